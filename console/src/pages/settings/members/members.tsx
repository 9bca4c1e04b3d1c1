import '../shared/settings.css';
import { accountApi } from '../../../api/api.ts';
import { readAgain, useLive } from '../../../api/queries.ts';
import { PageHead } from '../../../design/page-head.tsx';
import { Loaded } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { Invite } from './invite.tsx';
import { LeaveProject } from './leave-project.tsx';
import { MemberTable } from './member-table.tsx';
import { SignInPolicy } from './sign-in-policy.tsx';

/** The members of the project, and the people who are invited. */
export function Page() {
  const { project, adminOnly } = useProject();
  const { id } = project;
  const members = useLive({
    key: [id, 'members'],
    read: () => accountApi.get('/projects/{id}/members', { path: { id } }),
  });
  return (
    <>
      <PageHead title="Members" project={project.name} actions={<LeaveProject />} />
      <Invite />
      <Loaded query={members}>
        {({ data }) => <MemberTable members={data} onChanged={() => readAgain(id, 'members')} />}
      </Loaded>
      {adminOnly === null && <SignInPolicy />}
    </>
  );
}
