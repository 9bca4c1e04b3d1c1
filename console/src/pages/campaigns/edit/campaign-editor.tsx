import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { type Campaign, EverpostError } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { Conflict } from '../../../editing/conflict.tsx';
import { Form } from '../../../design/form.tsx';
import { LeaveGuard } from '../../../editing/leave-guard.tsx';
import { PageHead } from '../../../design/page-head.tsx';
import { State } from '../../../design/parts.tsx';
import { useAddress } from '../../../shell/address.ts';
import { useProject } from '../../../shell/project.ts';
import { AudienceStep } from './audience-step.tsx';
import { ContentStep } from './content-step.tsx';
import { ReviewStep } from './review-step.tsx';
import { TimeStep } from './time-step.tsx';
import { type Opened, useCampaignForm } from './use-campaign-form.ts';
import '../look/campaigns.css';
import '../../../mail/mail.css';

const steps = ['Content', 'Audience', 'Time', 'Review'] as const;
type Step = (typeof steps)[number];

/** Returns the step that shows a field of the API. */
function stepOf(field: string): Step {
  if (/^(audience|segment|topic|type)/.test(field)) return 'Audience';
  return field === 'maxPerMinute' ? 'Time' : 'Content';
}

/** The four steps to a campaign. A draft is saved when a step is left. */
export function CampaignEditor({ opened }: { opened: Opened | null }) {
  const { project, path } = useProject();
  const navigate = useNavigate();
  const [address, set] = useAddress({ step: 'Content' });
  const step = steps.find((name) => name === address.step) ?? 'Content';
  const target = useRef<Step>('Audience');
  const [left, setLeft] = useState<{ to: string; search: Record<string, string> } | null>(null);
  const { form, campaign, conflict } = useCampaignForm(opened, async (saved: Campaign) => {
    const search = { step: target.current };
    if (opened) set(search);
    else setLeft({ to: path(`campaigns/${saved.id}/edit`), search });
  });
  useEffect(() => {
    if (left) void navigate({ ...left, replace: left.search['step'] !== undefined });
  }, [left]);
  const go = (to: Step) => {
    target.current = to;
    if (form.isChanged || !campaign) void form.send();
    else set({ step: to });
  };
  useEffect(() => {
    const [fault] = form.error instanceof EverpostError ? form.error.errors : [];
    if (fault && opened) set({ step: stepOf(fault.field) }, true);
  }, [form.error]);
  const at = steps.indexOf(step);
  return (
    <>
      <PageHead
        title={campaign?.name ?? 'New campaign'}
        project={project.name}
        trail={<Link to={path('campaigns')}>All campaigns</Link>}
        state={form.isChanged && <State tone="neutral">Not saved</State>}
      />
      <nav aria-label="Steps" className="steps">
        {steps.map((name) => (
          <Button
            key={name}
            aria-current={name === step ? 'step' : undefined}
            onClick={() => go(name)}
          >
            {name}
          </Button>
        ))}
      </nav>
      <Form form={form} isWide label={step}>
        {step === 'Content' && <ContentStep form={form} />}
        {step === 'Audience' && <AudienceStep form={form} campaign={campaign} />}
        {step === 'Time' && <TimeStep form={form} />}
        {step === 'Review' && campaign && (
          <ReviewStep
            form={form}
            campaign={campaign}
            onSent={() => setLeft({ to: path(`campaigns/${campaign.id}`), search: {} })}
          />
        )}
      </Form>
      <div className="actions">
        {at > 0 && <Button onClick={() => go(steps[at - 1]!)}>Back</Button>}
        {at < steps.length - 1 && (
          <Button kind="primary" isBusy={form.isBusy} onClick={() => go(steps[at + 1]!)}>
            Next
          </Button>
        )}
      </div>
      <LeaveGuard isChanged={form.isChanged && left === null} />
      {conflict && <Conflict error={form.error} onLoad={conflict.load} onKeep={conflict.keep} />}
    </>
  );
}
