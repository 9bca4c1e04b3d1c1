import { useRead } from '../../api/queries.ts';
import { SelectField } from '../../design/fields.tsx';
import { useProject } from '../../shell/project.ts';

/**
 * Asks for the template of the confirmation mail. The choices are the newest 100 transactional
 * templates and the chosen template.
 */
export function ConfirmationTemplate({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  const { api, project } = useProject();
  const { data } = useRead([project.id, 'templates', 'transactional'], () =>
    api.get('/templates', { query: { type: 'TRANSACTIONAL', pageSize: 100 } }),
  );
  const { data: chosen } = useRead(
    [project.id, 'templates', 'of consent', value],
    () => api.get('/templates/{id}', { path: { id: value } }),
    { isEnabled: value !== '' },
  );
  const listed = data?.data ?? [];
  const isListed = listed.some(({ id }) => id === value);
  const all = chosen && !isListed && chosen.id === value ? [chosen, ...listed] : listed;
  return (
    <SelectField
      label="Template"
      value={value}
      onChange={onChange}
      error={error}
      options={[
        { value: '', text: 'The built-in confirmation mail' },
        ...all.map(({ id, name }) => ({ value: id, text: name })),
      ]}
      hint="It is transactional and has the link {{confirmUrl}}."
    />
  );
}
