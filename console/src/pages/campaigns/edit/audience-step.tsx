import type { Campaign } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { RadioGroup, SelectField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { FilterBuilder } from '../../../filter/filter-builder.tsx';
import { TopicField } from '../../../mail/mail-fields.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted, percent } from '../../../words/numbers.ts';
import { Sizes } from './experiment/experiment-fields.tsx';
import { FollowedUp } from './followed-up.tsx';
import type { CampaignValues } from '../form/campaign-form.ts';
import { useAudience } from '../form/use-audience.ts';

const types = [
  { value: 'ALL', text: 'Everyone' },
  { value: 'SEGMENT', text: 'Segment' },
  { value: 'FILTERED', text: 'Filter' },
];

/** The choice of a campaign's recipients. */
export function AudienceStep({
  form,
  campaign,
}: {
  form: FormState<CampaignValues>;
  campaign: Campaign | null;
}) {
  const { api, project } = useProject();
  const segments = useRead([project.id, 'segments'], () => api.get('/segments'));
  const { audienceType, audienceCondition, messageType } = form.values;
  const options = (segments.data ?? []).map(({ id, name }) => ({ value: id, text: name }));
  if (campaign?.followUp) {
    return (
      <div className="stack">
        <FollowedUp campaign={campaign} />
        <p className="second">
          They were chosen when the follow-up was made, and cannot be changed.
        </p>
      </div>
    );
  }
  return (
    <div className="stack">
      <RadioGroup
        label="Recipients"
        options={types}
        value={audienceType}
        onChange={(value) => form.set({ audienceType: value as typeof audienceType })}
      />
      {audienceType === 'SEGMENT' && (
        <SelectField
          label="Segment"
          {...form.field('segmentId')}
          options={[{ value: '', text: 'Choose a segment' }, ...options]}
        />
      )}
      {audienceType === 'FILTERED' && (
        <FilterBuilder
          value={audienceCondition}
          onChange={(condition) => form.set({ audienceCondition: condition })}
          errorOf={(at) => form.errorOf(`audienceCondition.${at}`)}
        />
      )}
      <div className="pair">
        <SelectField
          label="Leave out segment"
          {...form.field('withoutSegmentId')}
          options={[{ value: '', text: 'None' }, ...options]}
        />
        {messageType === 'MARKETING' && (
          <TopicField {...form.field('topicId')} noneText="No topic: all marketing mail" />
        )}
      </div>
      <Counted values={form.values} />
    </div>
  );
}

/** The number of recipients, and the numbers of contacts who are left out, with the reasons. */
export function Counted({ values }: { values: CampaignValues }) {
  const { data, error } = useAudience(values);
  const heldOut = useHeldOut(values);
  if (error) return <ProblemAlert error={error} />;
  const left =
    data &&
    ([
      [data.leftOut.unsubscribed, 'unsubscribed'],
      [data.leftOut.topic_unsubscribed, 'not subscribed to the topic'],
    ] as const);
  return (
    <div>
      <p role="status" aria-label="Recipients">
        <strong>{data ? counted(data.recipients, 'recipient') : 'Choose the recipients'}</strong>
      </p>
      <ul className="second">
        {left?.map(
          ([n, why]) =>
            n > 0 && (
              <li key={why}>
                {counted(n, 'contact')} left out: {why}
              </li>
            ),
        )}
        {data && data.suppressed > 0 && (
          <li>{counted(data.suppressed, 'recipient')} on the suppression list, not sent</li>
        )}
        {heldOut !== null && <li>{heldOut} of them in the hold-out, not sent</li>}
      </ul>
      {values.experiment && (
        <p className="second">
          <Sizes values={values} experiment={values.experiment} />
        </p>
      )}
    </div>
  );
}

/**
 * Returns the percentage of contacts in the hold-out, which get no such mail so that its effect can
 * be measured; null: all contacts may get the mail.
 */
function useHeldOut({ messageType, topicId }: CampaignValues): string | null {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'holdout'], () => api.get('/holdout'));
  if (!data || data.percent === 0 || messageType !== 'MARKETING') return null;
  const { percent: share, scope, endsAt } = data;
  const isOver = endsAt !== null && new Date(endsAt).getTime() <= Date.now();
  const isMeant =
    scope === 'marketing' || ('topicIds' in scope && scope.topicIds.includes(topicId));
  return isMeant && !isOver ? percent(share) : null;
}
