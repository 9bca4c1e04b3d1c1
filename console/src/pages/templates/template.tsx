import { etagOf, EverpostError } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { LastDays } from '../../mail/over-time.tsx';
import { Loaded } from '../../design/parts.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { TemplateEditor } from './template-editor.tsx';

export function Page() {
  const { api, project } = useProject();
  const id = useParam('templateId');
  const template = useRead([project.id, 'templates', id], async () => {
    const value = await api.get('/templates/{id}', { path: { id } });
    return { value, etag: etagOf(value) };
  });
  const { error } = template;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={template} lines={10}>
      {(opened) =>
        opened.value.id === id && (
          <>
            <TemplateEditor key={id} opened={opened} />
            <LastDays templateId={id} />
          </>
        )
      }
    </Loaded>
  );
}
