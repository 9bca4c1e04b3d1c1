import { useRead } from '../api/queries.ts';
import { SelectField } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';
import { activitiesOfOne } from './fields.ts';

/** Inputs for the rest of a field such as `campaign.<id>.opened`: the campaign and the activity. */
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
  const links = useRead(
    [project.id, 'campaigns', id, 'links'],
    () => api.get('/campaigns/{id}/links', { path: { id } }),
    { isEnabled: isCampaign && id !== '' },
  );
  const activity = rest.join('.') || 'opened';
  const clicks = (links.data?.links ?? []).flatMap(({ linkId, url }) =>
    url === null ? [] : [{ value: `link.${linkId}`, text: `Clicked ${url}` }],
  );
  const activities = [...activitiesOfOne, ...(id === '' ? [] : clicks)];
  const known = list.data ?? [];
  const other = id !== '' && !known.some(({ value }) => value === id);
  const otherActivity = !activities.some(({ value }) => value === activity);
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
        options={[...activities, ...(otherActivity ? [{ value: activity, text: activity }] : [])]}
        onChange={(chosen) => onChange(`${source}.${id && `${id}.${chosen}`}`)}
      />
    </>
  );
}
