import { SelectField, TextArea, TextField } from '../../../design/fields.tsx';
import type { FormState } from '../../../design/form.tsx';
import { timeZone } from '../../../words/times.ts';
import type { KeyValues } from './key-values.ts';
import { ScopesField } from './scopes-field.tsx';

const kinds = [
  { value: 'secret', text: 'Secret, for your servers' },
  { value: 'public', text: 'Public, only to track events' },
];

/** The settings of a named key. Its kind cannot be changed later. */
export function KeyFields({ form, isNew }: { form: FormState<KeyValues>; isNew: boolean }) {
  const { kind } = form.values;
  return (
    <>
      <TextField label="Name" autoComplete="off" {...form.field('name')} />
      {isNew && (
        <SelectField
          label="Kind"
          options={kinds}
          {...form.field('kind')}
          onChange={(value) => form.set({ kind: value as KeyValues['kind'] })}
        />
      )}
      {kind === 'secret' ? (
        <>
          <ScopesField
            value={form.values.scopes}
            onChange={(scopes) => form.set({ scopes })}
            error={form.errorOf('scopes')}
          />
          <TextArea
            label="Sender domains"
            rows={2}
            hint="One a line. Empty: all domains of the project. With domains, the key can only send and read."
            {...form.field('domains')}
          />
        </>
      ) : (
        <TextArea
          label="Events"
          rows={2}
          hint="Names or beginnings such as app.*, one a line. Empty: all events."
          {...form.field('events')}
        />
      )}
      <TextArea
        label="Networks"
        rows={2}
        hint="Addresses or networks such as 203.0.113.0/24, one a line. Empty: from everywhere."
        {...form.field('cidrs')}
      />
      <EndField {...form.field('expiresAt')} />
    </>
  );
}

/** The time when a key expires. */
export function EndField(field: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  return (
    <TextField
      label="Expires"
      type="datetime-local"
      hint={`In the time zone ${timeZone()}. Empty: never.`}
      {...field}
    />
  );
}
