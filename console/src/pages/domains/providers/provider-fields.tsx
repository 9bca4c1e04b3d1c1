import { CheckField, SelectField, TextArea, TextField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { feedbackNames, providerKinds, securityNames } from '../../../words/settings/providers.ts';
import type { ProviderValues } from './provider-values.ts';

interface Fields {
  form: FormState<ProviderValues>;
  isNew: boolean;
}

const kinds = [
  { value: 'smtp', text: providerKinds.smtp },
  { value: 'ses', text: providerKinds.ses },
];
const securities = Object.entries(securityNames).map(([value, text]) => ({ value, text }));
const feedbacks = Object.entries(feedbackNames)
  .filter(([value]) => value !== 'ses' && value !== 'mailbox')
  .map(([value, text]) => ({ value, text }));

/** The fields of a mail provider. */
export function ProviderFields({ form, isNew }: Fields) {
  return (
    <>
      <TextField label="Name" autoComplete="off" {...form.field('name')} />
      <SelectField
        label="Kind"
        options={kinds}
        disabled={!isNew}
        {...form.field('kind')}
        onChange={(kind) => form.set({ kind: kind as ProviderValues['kind'] })}
      />
      {form.values.kind === 'smtp' ? (
        <SmtpFields form={form} isNew={isNew} />
      ) : (
        <SesFields form={form} isNew={isNew} />
      )}
      <TextArea
        label="Sender domains"
        rows={2}
        {...form.field('domains')}
        hint="One a line. Empty: it may send for all."
      />
      <TextField
        label="Mails per second"
        type="number"
        min="1"
        {...form.field('ratePerSecond')}
        hint="Empty: no limit of its own."
      />
      <TextField
        label="Largest mail in MB"
        type="number"
        min="1"
        {...form.field('maxMessageMb')}
        hint="Empty: no limit of its own."
      />
      <CheckField
        label="Sign its mail with the key of the domain"
        {...form.field('ownSigning')}
        hint="Switch it off if the provider changes headers that are signed."
      />
    </>
  );
}

const unchanged = 'Empty: it stays as it is.';

function SmtpFields({ form, isNew }: Fields) {
  return (
    <>
      <TextField
        label="Host"
        autoComplete="off"
        placeholder="smtp.example.com"
        {...form.field('host')}
      />
      <TextField label="Port" type="number" {...form.field('port')} />
      <SelectField
        label="Security"
        options={securities}
        {...form.field('security')}
        onChange={(security) => form.set({ security: security as ProviderValues['security'] })}
      />
      <TextField label="User" autoComplete="off" {...form.field('user')} />
      <TextField
        label="Password"
        type="password"
        autoComplete="new-password"
        {...form.field('password')}
        hint={isNew ? undefined : `${unchanged} Another host, port or security needs it again.`}
      />
      <SelectField
        label="Reports"
        options={feedbacks}
        {...form.field('feedback')}
        onChange={(feedback) => form.set({ feedback: feedback as ProviderValues['feedback'] })}
        hint="How it tells what became of mail."
      />
      {form.values.feedback !== 'dsn' && form.values.feedback !== 'none' && (
        <TextField
          label="Secret of the reports"
          type="password"
          autoComplete="new-password"
          {...form.field('feedbackSecret')}
          hint={isNew ? 'With it, the webhooks of the service are checked.' : unchanged}
        />
      )}
    </>
  );
}

function SesFields({ form, isNew }: Fields) {
  return (
    <>
      <TextField
        label="Region"
        autoComplete="off"
        placeholder="eu-west-1"
        {...form.field('region')}
      />
      <TextField label="Access key id" autoComplete="off" {...form.field('accessKeyId')} />
      <TextField
        label="Secret access key"
        type="password"
        autoComplete="new-password"
        {...form.field('secretAccessKey')}
        hint={isNew ? undefined : unchanged}
      />
      <TextField label="Configuration set" autoComplete="off" {...form.field('configurationSet')} />
      <TextField
        label="ARN of the SNS topic"
        autoComplete="off"
        {...form.field('snsTopicArn')}
        hint="The topic that reports what became of its mail."
      />
    </>
  );
}
