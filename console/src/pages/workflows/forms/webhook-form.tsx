import { useState } from 'react';
import { useRead } from '../../../api/queries.ts';
import { SelectField, TextArea, TextField } from '../../../design/fields.tsx';
import { useProject } from '../../../shell/project.ts';
import { type StepFormProps, textOf } from './parts/form-props.ts';
import { Rows } from './parts/rows.tsx';

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'].map((value) => ({ value, text: value }));

export function WebhookForm({ config, set, errorOf }: StepFormProps) {
  const { api, project } = useProject();
  const { data: secrets = [] } = useRead([project.id, 'secrets'], () => api.get('/secrets'));
  const headers = Object.entries((config['headers'] ?? {}) as Record<string, string>);
  return (
    <>
      <TextField
        label="URL"
        type="url"
        value={textOf(config['url'])}
        error={errorOf('config.url')}
        onChange={(url) => set({ url })}
      />
      <SelectField
        label="Method"
        options={methods}
        value={textOf(config['method'] ?? 'POST')}
        onChange={(method) => set({ method })}
      />
      <Rows
        names={['Header', 'Header value']}
        add="Add header"
        value={headers}
        errorOf={(name) => errorOf(`config.headers.${name}`)}
        onChange={(rows) =>
          set({ headers: rows.length === 0 ? undefined : Object.fromEntries(rows) })
        }
      />
      {secrets.length > 0 && (
        <p className="second small">
          Secrets for URL, headers and body:{' '}
          {secrets.map(({ name }) => (
            <span key={name}>
              <code>{`{{secret.${name}}}`}</code>{' '}
            </span>
          ))}
        </p>
      )}
      <BodyField value={config['body']} onChange={(body) => set({ body })} />
      <SelectField
        label="If it fails"
        options={[
          { value: 'continue', text: 'go on' },
          { value: 'fail', text: 'the execution fails' },
        ]}
        value={textOf(config['onFailure'] ?? 'continue')}
        onChange={(onFailure) => set({ onFailure })}
      />
    </>
  );
}

const jsonText = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2));

/** A field for any JSON. Text that is not valid JSON stays in the field but is not stored. */
function BodyField({ value, onChange }: { value: unknown; onChange: (value: unknown) => void }) {
  const [typed, setTyped] = useState(jsonText(value));
  const [isBroken, setBroken] = useState(false);
  const isSame = isBroken || sameJson(typed, value);
  return (
    <TextArea
      label="Body"
      rows={6}
      className="input mono"
      value={isSame ? typed : jsonText(value)}
      error={isBroken ? 'This is no JSON yet, so it is not stored.' : undefined}
      hint="JSON with variables. Empty: contact, workflow, execution and event."
      onChange={(text) => {
        setTyped(text);
        try {
          onChange(text.trim() === '' ? undefined : (JSON.parse(text) as unknown));
          setBroken(false);
        } catch {
          setBroken(true);
        }
      }}
    />
  );
}

function sameJson(text: string, value: unknown): boolean {
  try {
    return text.trim() === ''
      ? value === undefined
      : JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
