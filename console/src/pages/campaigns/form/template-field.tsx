import { useState } from 'react';
import type { Template } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { SelectField } from '../../../design/fields.tsx';
import { useProject } from '../../../shell/project.ts';

/** Copies a template into the form. Later changes of the template do not change the copy. */
export function TemplateField({ onCopy }: { onCopy: (template: Template) => void }) {
  const { api, project } = useProject();
  const [chosen, setChosen] = useState('');
  const query = { pageSize: 100, sort: 'name', dir: 'asc' } as const;
  const { data } = useRead([project.id, 'templates', query], () =>
    api.get('/templates', { query }),
  );
  const templates = data?.data ?? [];
  const copy = (id: string) => {
    setChosen(id);
    const template = templates.find((each) => each.id === id);
    if (template) onCopy(template);
  };
  return (
    <SelectField
      label="Template"
      value={chosen}
      onChange={copy}
      hint="Its content is copied here."
      options={[
        { value: '', text: 'None' },
        ...templates.map(({ id, name }) => ({ value: id, text: name })),
      ]}
    />
  );
}
