import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Campaign, RetryFailedCampaignRequest } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, RadioGroup, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { followUpRecipients } from '../../words/campaigns.ts';
import { count, counted } from '../../words/numbers.ts';
import { textOfReason } from '../../words/reasons.ts';
import type { Stats } from './stats.ts';

/**
 * Actions on a campaign that has ended: a follow-up to recipients who did not react, and a retry of
 * failed mail.
 */
export function SecondPass({ campaign }: { campaign: Campaign }) {
  const [open, setOpen] = useState<'follow-up' | 'retry' | null>(null);
  const close = () => setOpen(null);
  const isSent = campaign.status === 'SENT';
  if (!isSent && campaign.status !== 'CANCELLED') return null;
  return (
    <>
      <Button onClick={() => setOpen('follow-up')}>Follow-up</Button>
      {isSent && <Button onClick={() => setOpen('retry')}>Retry failed</Button>}
      {open === 'follow-up' && <FollowUp campaign={campaign} onClose={close} />}
      {open === 'retry' && <RetryFailed campaign={campaign} onClose={close} />}
    </>
  );
}

type Outcome = keyof typeof followUpRecipients;

const outcomeOptions = Object.entries(followUpRecipients).map(([value, text]) => ({
  value,
  text: `Those who ${text}`,
}));

function FollowUp({ campaign, onClose }: { campaign: Campaign; onClose: () => void }) {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const first = {
    outcome: 'not_opened' as Outcome,
    ignoreMachines: true,
    name: '',
    subject: campaign.subject,
  };
  const form = useForm(first, async ({ name, ...values }) => {
    const { data } = await api.post('/campaigns/{id}/follow-up', {
      path: { id: campaign.id },
      body: { ...values, ...(name && { name }) },
    });
    await readAgain(project.id, 'campaigns');
    await navigate({ to: path(`campaigns/${data.id}/edit`) });
  });
  const { outcome } = form.values;
  return (
    <Dialog
      title="Follow-up"
      description="A draft with the content of this campaign. Its recipients are chosen now."
      onClose={onClose}
    >
      <Form form={form}>
        <RadioGroup
          label="Recipients"
          options={outcomeOptions}
          value={outcome}
          onChange={(value) => form.set({ outcome: value as Outcome })}
        />
        {(outcome === 'not_opened' || outcome === 'not_clicked') && (
          <CheckField
            label="Ignore machines"
            hint="Opens and clicks by scanners and mail programs do not count."
            {...form.field('ignoreMachines')}
          />
        )}
        <TextField
          label="Name"
          autoComplete="off"
          placeholder={`${campaign.name} (Follow-up)`}
          {...form.field('name')}
        />
        <TextField label="Subject" autoComplete="off" {...form.field('subject')} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Create follow-up
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

type Reason = NonNullable<RetryFailedCampaignRequest['reasons']>[number];

/**
 * Reasons for failure that may no longer exist. Mail with the reason `frequency_cap` is retried
 * only if the user chooses it.
 */
const retriable: readonly Reason[] = [
  'provider_refused',
  'provider_unavailable',
  'domain_not_verified',
  'billing_limit',
  'frequency_cap',
];

function RetryFailed({ campaign: { id }, onClose }: { campaign: Campaign; onClose: () => void }) {
  const { api, project } = useProject();
  const stats = useRead([project.id, 'campaigns', id, 'stats'], async () => {
    return (await api.get('/campaigns/{id}/stats', { path: { id } })).data;
  });
  return (
    <Dialog
      title="Retry failed"
      description="Mail that failed is tried again, each at most once. It stays the same mail."
      onClose={onClose}
    >
      <Loaded query={stats}>
        {(numbers) => <RetryForm campaignId={id} stats={numbers} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

function RetryForm({
  campaignId: id,
  stats,
  onClose,
}: {
  campaignId: string;
  stats: Stats;
  onClose: () => void;
}) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const numbers = stats.reasons as Partial<Record<string, number>>;
  const found = retriable.filter((reason) => (numbers[reason] ?? 0) > 0);
  const first: { reasons: Reason[] } = {
    reasons: found.filter((reason) => reason !== 'frequency_cap'),
  };
  const form = useForm(first, async ({ reasons }) => {
    const { data } = await api.post('/campaigns/{id}/retry-failed', {
      path: { id },
      body: { reasons },
    });
    await readAgain(project.id, 'campaigns');
    onClose();
    const { alreadyRetried } = data.notRetried;
    const again = alreadyRetried > 0 ? ` ${count(alreadyRetried)} were tried again before.` : '';
    say(`${counted(data.retried, 'mail')} will be tried again.${again}`);
  });
  const { reasons } = form.values;
  const set = (reason: Reason, isOn: boolean) =>
    form.set({ reasons: isOn ? [...reasons, reason] : reasons.filter((one) => one !== reason) });
  return (
    <Form form={form}>
      {found.length === 0 && <p>No mail failed for a reason that may have gone.</p>}
      {found.map((reason) => (
        <CheckField
          key={reason}
          label={`${textOfReason(reason)} ${count(numbers[reason] ?? 0)}`}
          value={reasons.includes(reason)}
          onChange={(isOn) => set(reason, isOn)}
        />
      ))}
      <div className="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="primary"
          type="submit"
          isBusy={form.isBusy}
          disabledBecause={reasons.length === 0 && 'Choose a reason first.'}
        >
          Retry
        </Button>
      </div>
    </Form>
  );
}
