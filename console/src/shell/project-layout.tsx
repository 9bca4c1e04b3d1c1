import { Outlet, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { accountApi, apiOf, type Project } from '../api/api.ts';
import { useRead } from '../api/queries.ts';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { Bones } from '../design/parts.tsx';
import { ProblemAlert } from '../design/problem-alert.tsx';
import { AccountFrame } from './account-layout.tsx';
import { useParam } from './address.ts';
import { FactorNeeded } from './factor-needed.tsx';
import { NotFound } from './not-found-page.tsx';
import { PlainFrame } from './plain-layout.tsx';
import { DisabledProject } from './disabled-project.tsx';
import { ProjectContext } from './project.ts';
import { useShortcuts } from './search/shortcuts.tsx';
import { SideBar } from './side-bar.tsx';

const readProjects = () => accountApi.get('/users/@me/projects');

/**
 * Layout of all pages of a project. The navigation is next to the page; on a phone, a button opens
 * the navigation.
 */
export function ProjectLayout() {
  const projectId = useParam('projectId');
  const { data: projects, error, refetch } = useRead(['projects'], readProjects);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const context = useContextOf(projects?.find(({ id }) => id === projectId));
  const navigate = useNavigate();
  const { openSearch, dialog } = useShortcuts(
    context ? { id: projectId, api: context.api } : null,
    (page) => context && void navigate({ to: context.path(page) }),
  );
  if (!projects && error) {
    return (
      <PlainFrame>
        <ProblemAlert error={error} onRetry={() => void refetch()} />
      </PlainFrame>
    );
  }
  if (!projects) return <Bones />;
  if (!context || context.project.secondFactorRequired) {
    return <AccountFrame>{context ? <FactorNeeded /> : <NotFound />}</AccountFrame>;
  }
  return (
    <ProjectContext.Provider value={context}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Button onClick={() => setMenuOpen(true)}>Menu</Button>
        <strong>{context.project.name}</strong>
      </header>
      {isMenuOpen && (
        <Dialog title="Menu" hidesTitle size="side" onClose={() => setMenuOpen(false)}>
          <SideBar
            projects={projects}
            onLeave={() => setMenuOpen(false)}
            onSearch={() => {
              setMenuOpen(false);
              openSearch();
            }}
          />
        </Dialog>
      )}
      {dialog}
      <div className="shell">
        <div className="side">
          <SideBar projects={projects} onSearch={openSearch} />
        </div>
        <main id="main" className="content" tabIndex={-1}>
          <DisabledProject project={context.project} />
          <Outlet />
        </main>
      </div>
    </ProjectContext.Provider>
  );
}

function useContextOf(project: Project | undefined) {
  return useMemo(
    () =>
      project && {
        project,
        api: apiOf(project.id),
        path: (page: string) => `/${project.id}${page === '' ? '' : `/${page}`}`,
        adminOnly:
          project.role === 'MEMBER' ? 'Only administrators of this project may do this.' : null,
      },
    [project],
  );
}
