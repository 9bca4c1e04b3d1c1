import { SelectField } from '../../../design/fields.tsx';
import { textOfValue, valueOfText } from '../../../journey/values.ts';
import { type StepFormProps, textOf } from './parts/form-props.ts';
import { Rows } from './parts/rows.tsx';

export function UpdateContactForm({ config, set, errorOf }: StepFormProps) {
  const updates = Object.entries(config['updates'] ?? {});
  return (
    <>
      <Rows
        names={['Key', 'Value']}
        add="Add field"
        hasFirst
        value={updates.map(([key, value]) => [key, value === null ? 'null' : textOfValue(value)])}
        errorOf={(key) => errorOf(`config.updates.${key}`)}
        onChange={(rows) =>
          set({
            updates: Object.fromEntries(
              rows.map(([key, text]) => [key, text === 'null' ? null : valueOfText(text)]),
            ),
          })
        }
      />
      <p className="second small">
        Numbers, true and false are stored as such, “null” deletes the field. Texts may have
        variables: <code>{'{{plan}}'}</code>.
      </p>
      <SelectField
        label="Subscription"
        options={[
          { value: 'none', text: 'stays as it is' },
          { value: 'subscribe', text: 'subscribe' },
          { value: 'unsubscribe', text: 'unsubscribe' },
        ]}
        value={textOf(config['subscriptionAction'] ?? 'none')}
        onChange={(action) => set({ subscriptionAction: action === 'none' ? undefined : action })}
      />
    </>
  );
}
