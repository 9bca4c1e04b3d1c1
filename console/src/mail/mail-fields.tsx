import { useRead } from '../api/queries.ts';
import { SelectField, TextField } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';

/** The address of the sender, with the verified domains as a hint. */
export function FromField({
  value,
  onChange,
  error,
  placeholder,
}: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
  placeholder?: string;
}) {
  const { api, project } = useProject();
  const domains = useRead([project.id, 'domains'], () =>
    api.get('/domains/project/{projectId}', { path: { projectId: project.id } }),
  );
  const verified = domains.data?.filter((domain) => domain.verified).map(({ domain }) => domain);
  return (
    <TextField
      label="From"
      type="email"
      autoComplete="off"
      value={value}
      onChange={onChange}
      error={error}
      placeholder={placeholder}
      hint={
        verified &&
        (verified.length > 0
          ? `An address of ${verified.join(' or ')}.`
          : 'Add a domain in the settings first.')
      }
    />
  );
}

/** The topic of marketing mail. */
export function TopicField({
  value,
  onChange,
  error,
  noneText,
}: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
  noneText: string;
}) {
  const { api, project } = useProject();
  const topics = useRead([project.id, 'topics'], () => api.get('/topics'));
  return (
    <SelectField
      label="Topic"
      value={value}
      onChange={onChange}
      error={error}
      options={[
        { value: '', text: noneText },
        ...(topics.data ?? []).map(({ id, name }) => ({ value: id, text: name })),
      ]}
    />
  );
}
