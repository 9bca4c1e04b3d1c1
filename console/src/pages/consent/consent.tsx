import type { ConsentPolicy } from '../../api/api.ts';
import { readAgain, useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { CheckField, SelectField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useNotify } from '../../design/notices.tsx';
import { PageHead } from '../../design/page-head.tsx';
import { Loaded } from '../../design/parts.tsx';
import { FromField } from '../../mail/mail-fields.tsx';
import { useProject } from '../../shell/project.ts';
import {
  type Duration,
  DurationField,
  durationOf,
  secondsOf,
} from '../../values/duration-field.tsx';
import { bounceScopes, consentSentence } from '../../words/settings/consent.ts';
import { ConfirmationTemplate } from './confirmation-template.tsx';
import './consent.css';

/** The rules by which contacts confirm that they want mail. */
export function Page() {
  const { api, project } = useProject();
  const policy = useRead([project.id, 'consent-policy'], () => api.get('/consent-policy'));
  return (
    <>
      <PageHead title="Consent" project={project.name} />
      <Loaded query={policy}>{(data) => <Policy policy={data} />}</Loaded>
    </>
  );
}

interface Values {
  requireConfirmation: boolean;
  /** Empty: the built-in text. */
  templateId: string;
  from: string;
  fromName: string;
  remindAfter: Duration;
  expireAfter: Duration;
  bounceScope: ConsentPolicy['bounceScope'];
}

const valuesOf = (policy: ConsentPolicy): Values => ({
  requireConfirmation: policy.requireConfirmation,
  templateId: policy.templateId ?? '',
  from: policy.from ?? '',
  fromName: policy.fromName ?? '',
  remindAfter: durationOf(policy.remindAfter),
  expireAfter: durationOf(policy.expireAfter),
  bounceScope: policy.bounceScope,
});

const orNull = (text: string) => (text.trim() === '' ? null : text);

const bodyOf = (values: Values) => ({
  requireConfirmation: values.requireConfirmation,
  templateId: orNull(values.templateId),
  from: orNull(values.from),
  fromName: orNull(values.fromName),
  remindAfter: secondsOf(values.remindAfter),
  // The API refuses 0, so a missing amount shows an error at its field.
  expireAfter: secondsOf(values.expireAfter) ?? 0,
  bounceScope: values.bounceScope,
});

const scopeOptions = Object.entries(bounceScopes).map(([value, text]) => ({ value, text }));

function Policy({ policy }: { policy: ConsentPolicy }) {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const form = useForm(valuesOf(policy), async (values) => {
    await api.put('/consent-policy', { body: bodyOf(values) });
    await readAgain(project.id, 'consent-policy');
    say('The consent policy is saved.');
  });
  const { values } = form;
  return (
    <Form form={form}>
      <p>{consentSentence(bodyOf(values))}</p>
      <CheckField
        label="Require confirmation"
        {...form.field('requireConfirmation')}
        hint="Holds for public keys, preference pages and mail from new contacts. Requests with a secret key, imports and workflows subscribe at once."
      />
      <ConfirmationTemplate {...form.field('templateId')} />
      <FromField {...form.field('from')} />
      <TextField label="From name" autoComplete="off" {...form.field('fromName')} />
      <DurationField
        label="Remind after"
        {...form.field('remindAfter')}
        hint="Empty: no reminder is sent."
      />
      <DurationField
        label="Expire after"
        {...form.field('expireAfter')}
        hint="Counts from the last mail. Then its link no longer works."
      />
      <SelectField
        label="After a permanent bounce"
        options={scopeOptions}
        {...form.field('bounceScope')}
        onChange={(next) => form.set({ bounceScope: next as Values['bounceScope'] })}
      />
      <div className="actions">
        <Button kind="primary" type="submit" isBusy={form.isBusy} disabledBecause={adminOnly}>
          Save
        </Button>
      </div>
    </Form>
  );
}
