import '../shared/settings.css';
import { Link } from '@tanstack/react-router';
import type { Holdout, LinkPolicy } from '../../../api/api.ts';
import { readAgain, useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { TextArea, TextField } from '../../../design/fields.tsx';
import { Form, type FormState, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { Card, Loaded } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { counted } from '../../../words/numbers.ts';
import { timeZone } from '../../../words/times.ts';
import { typedOf, valueOf } from '../../../values/kinds.ts';

/**
 * The hold-out, which gets no marketing mail so that the effect of this mail can be measured, and
 * the UTM parameters.
 */
export function Page() {
  const { project, api, path } = useProject();
  const holdout = useRead([project.id, 'holdout'], () => api.get('/holdout'));
  const links = useRead([project.id, 'link-policy'], () => api.get('/link-policy'));
  return (
    <>
      <PageHead
        title="Hold-out and links"
        project={project.name}
        trail={<Link to={path('settings')}>Back to the project</Link>}
      />
      <Loaded query={holdout}>{(found) => <HoldoutForm holdout={found} />}</Loaded>
      <Loaded query={links}>{(found) => <LinkForm policy={found} />}</Loaded>
    </>
  );
}

function scopeText({ scope }: Holdout): string {
  if (scope === 'marketing') return 'It applies to all marketing mail.';
  return 'topicIds' in scope
    ? `It applies to mail of ${counted(scope.topicIds.length, 'topic')} only, as the API has set it.`
    : `It applies to mail of ${counted(scope.workflowIds.length, 'workflow')} only, as the API has set it.`;
}

function HoldoutForm({ holdout }: { holdout: Holdout }) {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const start = {
    percent: String(holdout.percent),
    salt: holdout.salt ?? '',
    endsAt: typedOf(holdout.endsAt, 'moment'),
  };
  const form = useForm(start, async ({ percent, salt, endsAt }) => {
    const end = endsAt === '' ? null : ((valueOf(endsAt, 'moment') as string) ?? endsAt);
    const body = {
      percent: Number(percent),
      ...(salt !== start.salt && { salt }),
      ...(endsAt !== start.endsAt && { endsAt: end }),
    };
    await api.put('/holdout', { body });
    await readAgain(project.id, 'holdout');
    say('The hold-out is saved.');
  });
  const off = adminOnly !== null;
  return (
    <Card label="Hold-out">
      <p className="second">
        This share of the contacts gets no marketing mail, so that you can compare what the others
        do.
      </p>
      <Form form={form} label="Hold-out">
        <TextField
          label="Percent of the contacts"
          type="number"
          min={0}
          max={20}
          step={0.01}
          disabled={off}
          hint="At most 20. With 0, nobody is held out."
          {...form.field('percent')}
        />
        <TextField
          label="Salt"
          autoComplete="off"
          disabled={off}
          hint="Another salt chooses other contacts."
          {...form.field('salt')}
        />
        <TextField
          label="Ends"
          type="datetime-local"
          disabled={off}
          hint={`In the time zone ${timeZone()}. Empty: never.`}
          {...form.field('endsAt')}
        />
        <p className="second small">{scopeText(holdout)}</p>
        <SaveButton form={form} />
      </Form>
    </Card>
  );
}

const keys = ['source', 'medium', 'campaign', 'term', 'content'] as const;
const textsOf = (text: string) => text.split(/[\s,]+/).filter((part) => part !== '');

function LinkForm({ policy: { utm, utmHosts } }: { policy: LinkPolicy }) {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const start = {
    ...(Object.fromEntries(keys.map((key) => [key, utm?.[key] ?? ''])) as Record<
      (typeof keys)[number],
      string
    >),
    utmHosts: utmHosts.join('\n'),
  };
  const form = useForm(start, async (values) => {
    const given = keys.map((key) => [key, values[key].trim() || null] as const);
    const isAny = given.some(([, value]) => value !== null);
    await api.put('/link-policy', {
      body: { utm: isAny ? Object.fromEntries(given) : null, utmHosts: textsOf(values.utmHosts) },
    });
    await readAgain(project.id, 'link-policy');
    say('The parameters are saved.');
  });
  const off = adminOnly !== null;
  return (
    <Card label="Links">
      <p className="second">
        Links in the mail of campaigns and workflows get these UTM parameters. A value may contain{' '}
        <code>{'{campaign}'}</code>, <code>{'{workflow}'}</code>, <code>{'{step}'}</code>,{' '}
        <code>{'{template}'}</code> and <code>{'{arm}'}</code>.
      </p>
      <Form form={form} label="Links" isWide>
        <div className="columns">
          {keys.map((key) => (
            <TextField
              key={key}
              label={`utm_${key}`}
              autoComplete="off"
              disabled={off}
              {...form.field(key)}
              error={form.errorOf(`utm.${key}`)}
            />
          ))}
        </div>
        <TextArea
          label="Hosts"
          rows={2}
          disabled={off}
          hint="Only links to these hosts, and to hosts below them, one a line. Empty: all links."
          {...form.field('utmHosts')}
        />
        <SaveButton form={form} />
      </Form>
    </Card>
  );
}

function SaveButton<T extends object>({ form }: { form: FormState<T> }) {
  const { adminOnly } = useProject();
  return (
    <div className="actions">
      <Button
        kind="primary"
        type="submit"
        isBusy={form.isBusy}
        disabledBecause={adminOnly ?? (!form.isChanged && 'Nothing has changed.')}
      >
        Save
      </Button>
      {adminOnly && <span className="second small">{adminOnly}</span>}
    </div>
  );
}
