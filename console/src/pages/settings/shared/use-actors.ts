import { accountApi } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import type { Option } from '../../../design/fields.tsx';
import { useProject } from '../../../shell/project.ts';
import { useKeys } from './use-keys.ts';

/** Returns the keys and members of the project as options: `key <id>`, `user <id>`. */
export function useActors(): readonly Option[] {
  const { project } = useProject();
  const { data: keys = [] } = useKeys();
  const { data: members } = useRead([project.id, 'members'], () =>
    accountApi.get('/projects/{id}/members', { path: { id: project.id } }),
  );
  return [
    { value: '', text: 'Everybody' },
    { value: 'key secret', text: 'Secret key', group: 'Keys' },
    { value: 'key public', text: 'Public key', group: 'Keys' },
    ...keys.map(({ id, name }) => ({ value: `key ${id}`, text: name, group: 'Keys' })),
    ...(members?.data ?? []).map(({ userId, email }) => ({
      value: `user ${userId}`,
      text: email,
      group: 'Members',
    })),
  ];
}

/** Returns the parts of an option: `['key', '<id>']`. */
export function actorOf(option: string): [kind: string, id: string] {
  const [kind = '', id = ''] = option.split(' ');
  return [kind, id];
}
