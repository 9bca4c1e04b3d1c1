import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { SelectField, TextField } from '../../../design/fields.tsx';
import { useProject } from '../../../shell/project.ts';
import type { RouteValues } from './route-values.ts';

/** The providers of a route, each with its share of the mail. */
export function RouteProviders({
  value,
  onChange,
  errorOf,
}: {
  value: RouteValues['providers'];
  onChange: (value: RouteValues['providers']) => void;
  /** The error of a part: `.0.weight`. */
  errorOf: (part: string) => string | undefined;
}) {
  const { api, project } = useProject();
  const providers = useRead([project.id, 'providers'], () => api.get('/providers'));
  const options = (providers.data ?? []).map(({ id, name }) => ({ value: id, text: name }));
  const free = options.find((option) => value.every(({ id }) => id !== option.value));
  const change = (at: number, changes: { id?: string; weight?: string }) =>
    onChange(value.map((one, index) => (index === at ? { ...one, ...changes } : one)));
  return (
    <fieldset className="field">
      <legend>Providers</legend>
      {value.map(({ id, weight }, at) => (
        <div key={at} className="route-provider">
          <SelectField
            label="Provider"
            options={options}
            value={id}
            error={errorOf(`.${at}.id`)}
            onChange={(next) => change(at, { id: next })}
          />
          <TextField
            label="Share"
            type="number"
            min="0"
            value={weight}
            error={errorOf(`.${at}.weight`)}
            onChange={(next) => change(at, { weight: next })}
          />
          <Button onClick={() => onChange(value.filter((_, index) => index !== at))}>Remove</Button>
        </div>
      ))}
      <div className="actions">
        <Button
          isSmall
          disabledBecause={!free && 'All providers are in the list.'}
          onClick={() => free && onChange([...value, { id: free.value, weight: '1' }])}
        >
          Add to the route
        </Button>
      </div>
      <span className="hint">Share 0: only when those before it cannot take the mail.</span>
    </fieldset>
  );
}
