import { CheckField, SelectField, TextField } from '../../../../design/fields.tsx';
import type { Settings } from '../../../../journey/editing.ts';

type Values = Pick<Settings, 'allowReentry' | 'reentry' | 'executionKey'>;
type Mode = Values['reentry']['mode'];

/** Chooses when a contact may enter the workflow again. */
export function Reentry({
  values: { reentry, executionKey },
  onChange,
  errorOf,
}: {
  values: Values;
  onChange: (changes: Partial<Values>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const setMode = (mode: Mode) => {
    const minIntervalSeconds = mode === 'once' ? null : reentry.minIntervalSeconds;
    onChange({ allowReentry: mode !== 'once', reentry: { mode, minIntervalSeconds } });
  };
  const modes = [
    { value: 'after_end', text: 'after the journey has ended' },
    { value: 'parallel', text: 'at any time, several at once', isDisabled: executionKey !== null },
  ];
  return (
    <>
      <CheckField
        label="Allow again"
        hint="A contact may enter again after its journey has ended."
        value={reentry.mode !== 'once'}
        onChange={(isOn) => setMode(isOn ? 'after_end' : 'once')}
      />
      {reentry.mode !== 'once' && (
        <SelectField
          label="Again"
          options={modes}
          value={reentry.mode}
          error={errorOf('reentry.mode')}
          onChange={(mode) => setMode(mode as Mode)}
        />
      )}
      <TextField
        label="One journey per"
        value={executionKey ?? ''}
        error={errorOf('executionKey')}
        hint="A field of the event, such as event.orderId: one journey for each of its values. Empty: one per contact."
        onChange={(text) => onChange({ executionKey: text === '' ? null : text })}
      />
    </>
  );
}
