import { accountApi, type BillingLimits } from '../../../api/api.ts';
import { queryClient, useLive } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { Card, Loaded, State } from '../../../design/parts.tsx';
import { Table } from '../../../design/table.tsx';
import { useProject } from '../../../shell/project.ts';
import { count, percent } from '../../../words/numbers.ts';

const categories = [
  ['workflows', 'Workflows'],
  ['campaigns', 'Campaigns'],
  ['transactional', 'Requests to /v1/send'],
  ['inbound', 'Received mail'],
] as const;

type Category = (typeof categories)[number][0];

/** The use of this month by category, and its limits. */
export function Limits() {
  const { project } = useProject();
  const key = [project.id, 'billing', 'limits'];
  const limits = useLive({
    key,
    read: () =>
      accountApi.get('/users/@me/projects/{id}/billing-limits', { path: { id: project.id } }),
  });
  return (
    <Loaded query={limits}>
      {(found) => (
        <>
          <Usage limits={found} />
          <LimitForm limits={found} onSaved={(saved) => queryClient.setQueryData(key, saved)} />
        </>
      )}
    </Loaded>
  );
}

function Usage({ limits }: { limits: BillingLimits }) {
  return (
    <Table
      label="Usage of this month"
      rows={categories}
      keyOf={([category]) => category}
      columns={[
        { name: 'Mail', cell: ([, name]) => name },
        { name: 'Used', isNumber: true, cell: ([category]) => count(limits[category].usage) },
        {
          name: 'Limit',
          isNumber: true,
          cell: ([category]) => {
            const { limit } = limits[category];
            return limit === null ? 'None' : count(limit);
          },
        },
        {
          name: 'Share',
          isNumber: true,
          cell: ([category]) => percent(limits[category].percentage),
        },
        { name: 'State', cell: ([category]) => <LimitState limit={limits[category]} /> },
      ]}
    />
  );
}

function LimitState({ limit }: { limit: BillingLimits[Category] }) {
  if (limit.isBlocked) return <State tone="bad">Used up</State>;
  if (limit.isWarning) return <State tone="warning">Nearly used up</State>;
  return <State tone="good">Within the limit</State>;
}

const typedLimit = (limit: number | null) => (limit === null ? '' : String(limit));

function LimitForm({
  limits,
  onSaved,
}: {
  limits: BillingLimits;
  onSaved: (saved: BillingLimits) => void;
}) {
  const { project, adminOnly } = useProject();
  const { say } = useNotify();
  const start = Object.fromEntries(
    categories.map(([category]) => [category, typedLimit(limits[category].limit)]),
  ) as Record<Category, string>;
  const form = useForm(start, async (values) => {
    const body = Object.fromEntries(
      categories.map(([category]) => [
        category,
        values[category] === '' ? null : Number(values[category]),
      ]),
    );
    const path = { id: project.id };
    onSaved(await accountApi.put('/users/@me/projects/{id}/billing-limits', { path, body }));
    say('The limits are saved.');
  });
  const off =
    adminOnly ??
    (project.subscription === null ? 'Without a subscription, the free tier is the limit.' : null);
  return (
    <Card label="Own limits">
      <Form form={form} isWide>
        <div className="columns">
          {categories.map(([category, name]) => (
            <TextField
              key={category}
              label={name}
              type="number"
              min={1}
              disabled={off !== null}
              {...form.field(category)}
            />
          ))}
        </div>
        <p className="second small">
          Emails a month; one with attachments counts as two. Empty: no limit.
        </p>
        <div className="actions">
          <Button
            kind="primary"
            type="submit"
            isBusy={form.isBusy}
            disabledBecause={off ?? (!form.isChanged && 'Nothing has changed.')}
          >
            Save
          </Button>
          {off && <span className="second small">{off}</span>}
        </div>
      </Form>
    </Card>
  );
}
