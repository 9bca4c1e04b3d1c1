import { useRead } from '../../../api/queries.ts';
import { RadioGroup, SelectField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { ProblemAlert } from '../../../design/problem-alert.tsx';
import { FilterBuilder } from '../../../filter/filter-builder.tsx';
import { TopicField } from '../../../mail/mail-fields.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import type { CampaignValues } from './campaign-form.ts';
import { useAudience } from './use-audience.ts';

const types = [
  { value: 'ALL', text: 'Everyone' },
  { value: 'SEGMENT', text: 'Segment' },
  { value: 'FILTERED', text: 'Filter' },
];

/** Who gets a campaign. */
export function AudienceStep({ form }: { form: FormState<CampaignValues> }) {
  const { api, project } = useProject();
  const segments = useRead([project.id, 'segments'], () => api.get('/segments'));
  const { audienceType, audienceCondition, messageType } = form.values;
  const options = (segments.data ?? []).map(({ id, name }) => ({ value: id, text: name }));
  if (audienceType === 'FOLLOW_UP') {
    return <p>It goes to recipients of the campaign that it follows. They cannot be changed.</p>;
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

/** The number of recipients, and who is left out and why. */
export function Counted({ values }: { values: CampaignValues }) {
  const { data, error } = useAudience(values);
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
      </ul>
    </div>
  );
}
