import { useRead } from '../api/queries.ts';
import { SelectField } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';
import { activitiesOfOne } from './fields.ts';

/** The rest of a field such as `campaign.<id>.opened`: which campaign, and what happened. */
export function SourceField({
  field,
  onChange,
}: {
  field: string;
  onChange: (field: string) => void;
}) {
  const { api, project } = useProject();
  const [source = '', id = '', ...rest] = field.split('.');
  const isCampaign = source === 'campaign';
  const query = { page: 1, pageSize: 100 };
  const list = useRead([project.id, `${source}s`, 'names'], async () => {
    const { data } = isCampaign
      ? await api.get('/campaigns', { query })
      : await api.get('/templates', { query });
    return data.map(({ id: value, name: text }) => ({ value, text }));
  });
  const activity = rest.join('.') || 'opened';
  const known = list.data ?? [];
  const other = id !== '' && !known.some(({ value }) => value === id);
  const otherActivity = !activitiesOfOne.some(({ value }) => value === activity);
  return (
    <>
      <SelectField
        label={isCampaign ? 'Campaign' : 'Template'}
        value={id}
        options={[
          { value: '', text: 'Choose…' },
          ...known,
          ...(other ? [{ value: id, text: id }] : []),
        ]}
        onChange={(chosen) => onChange(`${source}.${chosen && `${chosen}.${activity}`}`)}
      />
      <SelectField
        label="Activity"
        value={activity}
        options={[
          ...activitiesOfOne,
          ...(otherActivity ? [{ value: activity, text: activity }] : []),
        ]}
        onChange={(chosen) => onChange(`${source}.${id && `${id}.${chosen}`}`)}
      />
    </>
  );
}
