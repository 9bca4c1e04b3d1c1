import { useId } from 'react';
import { scopes } from '../../../../../domain/access/scopes.ts';

const verbs = ['read', 'write', 'send'] as const;
const known: ReadonlySet<string> = new Set(scopes);
const resources = [...new Set(scopes.map((scope) => scope.split(':')[0] ?? ''))];

/** The rights of a key: a box per scope, in a row per resource. */
export function ScopesField({
  value,
  onChange,
  error,
}: {
  value: readonly string[];
  onChange: (scopes: readonly string[]) => void;
  error: string | undefined;
}) {
  const errorId = useId();
  const box = (scope: string, name?: string) => (
    <input
      type="checkbox"
      aria-label={name === undefined ? scope : undefined}
      aria-invalid={error !== undefined && scope === '*' ? true : undefined}
      aria-describedby={error !== undefined && scope === '*' ? errorId : undefined}
      checked={value.includes(scope)}
      onChange={({ target }) =>
        onChange(target.checked ? [...value, scope] : value.filter((one) => one !== scope))
      }
    />
  );
  const wide = (scope: string, name: string) => (
    <label className="check">
      {box(scope, name)}
      {name}
    </label>
  );
  return (
    <fieldset className="field">
      <legend>Scopes</legend>
      {wide('*', 'Everything, also what is added later')}
      {wide('*:read', 'Everything that only reads')}
      {error && (
        <span className="fault" id={errorId}>
          {error}
        </span>
      )}
      <div className="scopes" role="region" aria-label="Scopes by resource" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Resource</th>
              {verbs.map((verb) => (
                <th key={verb} scope="col">
                  {verb}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {resources.map((resource) => (
              <tr key={resource}>
                <td>{resource}</td>
                {verbs.map((verb) => (
                  <td key={verb}>
                    {known.has(`${resource}:${verb}`) && (
                      <span className="check">{box(`${resource}:${verb}`)}</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </fieldset>
  );
}
