import { etagOf, EverpostError } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Loaded } from '../../../design/parts.tsx';
import { useParam } from '../../../shell/address.ts';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import { CampaignEditor } from './campaign-editor.tsx';

export function Page() {
  const { api, project } = useProject();
  const id = useParam('campaignId');
  const campaign = useRead([project.id, 'campaigns', id, 'edited'], async () => {
    const answer = await api.get('/campaigns/{id}', { path: { id } });
    return { value: answer.data, etag: etagOf(answer) };
  });
  const { error } = campaign;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={campaign} lines={10}>
      {(opened) => (opened.value.id === id ? <CampaignEditor key={id} opened={opened} /> : null)}
    </Loaded>
  );
}
