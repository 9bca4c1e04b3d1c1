import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import type { Project } from '../api/api.ts';
import { useLive } from '../api/queries.ts';
import { base } from '../api/session.ts';
import { accountApi } from '../api/api.ts';
import { useIsStarting } from '../first-hour/steps.ts';
import { Menu } from '../design/menu.tsx';
import { useNotify } from '../design/notices.tsx';
import { sections } from '../navigation/pages.ts';
import { count } from '../words/numbers.ts';
import { useProject } from './project.ts';
import { applyRows, applyTheme, areRowsCompact, readTheme, type Theme } from './look.ts';
import { useUser } from './user.ts';

const start = ['start', 'Get started'] as const;

/** The navigation of a project. `onLeave` is called when the user has chosen a page. */
export function SideBar({
  projects,
  onLeave,
  onSearch,
}: {
  projects: readonly Project[];
  onLeave?: () => void;
  onSearch: () => void;
}) {
  return (
    <>
      <ProjectMenu projects={projects} />
      <Navigation onLeave={onLeave} onSearch={onSearch} />
      <AccountMenu />
    </>
  );
}

function ProjectMenu({ projects }: { projects: readonly Project[] }) {
  const { project } = useProject();
  const navigate = useNavigate();
  return (
    <Menu
      button={
        <button type="button" className="row project" aria-label={`Project: ${project.name}`}>
          <span>{project.name}</span>
          <span aria-hidden="true">▾</span>
        </button>
      }
      items={[
        ...projects.map(({ id, name }) => ({
          kind: 'choice' as const,
          text: name,
          isChosen: id === project.id,
          onChoose: () => void navigate({ to: `/${id}` }),
        })),
        { kind: 'line' },
        { text: 'New project', onChoose: () => void navigate({ to: '/projects/new' }) },
      ]}
    />
  );
}

function Navigation({
  onLeave,
  onSearch,
}: {
  onLeave: (() => void) | undefined;
  onSearch: () => void;
}) {
  const { api, path, project } = useProject();
  const { data: failures } = useLive({
    key: [project.id, 'executions', 'groups', {}],
    read: () => api.get('/executions/groups'),
  });
  const { email } = useUser();
  const isStarting = useIsStarting({ api, projectId: project.id, email });
  const failed = failures?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const isAt = (page: string) =>
    page === '' ? pathname === path('') : `${pathname}/`.startsWith(`${path(page)}/`);
  return (
    <nav aria-label="Main">
      <button type="button" className="row" onClick={onSearch}>
        <span>Search</span>
        <kbd aria-hidden="true">/</kbd>
      </button>
      {(isStarting ? [start, ...sections] : sections).map(([page, name]) => (
        <Link
          key={page}
          to={path(page)}
          activeOptions={{ exact: true, includeSearch: false }}
          aria-current={isAt(page) ? 'page' : undefined}
          onClick={onLeave}
        >
          <span>{name}</span>
          {page === 'failures' && failed > 0 && <span className="number"> {count(failed)}</span>}
        </Link>
      ))}
    </nav>
  );
}

const themes: [Theme, string][] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

export function AccountMenu() {
  const { email } = useUser();
  const navigate = useNavigate();
  const { fail } = useNotify();
  const [isCompact, setCompact] = useState(areRowsCompact);
  const changeRows = () => {
    applyRows(!isCompact);
    setCompact(!isCompact);
  };
  const logOut = async () => {
    try {
      const sessions = await accountApi.get('/users/@me/sessions');
      const id = sessions.find(({ current }) => current)?.id;
      if (id) await accountApi.delete('/users/@me/sessions/{id}', { path: { id } });
      location.assign(`${base}/auth/login`);
    } catch (error) {
      fail(error);
    }
  };
  return (
    <Menu
      button={
        <button type="button" className="row">
          <span>Account</span>
          <span aria-hidden="true">▾</span>
        </button>
      }
      items={[
        { kind: 'label', text: email },
        { text: 'Account', onChoose: () => void navigate({ to: '/account' }) },
        { kind: 'line' },
        {
          kind: 'choices',
          text: 'Theme',
          choices: themes.map(([theme, text]) => ({
            text,
            isChosen: readTheme() === theme,
            onChoose: () => applyTheme(theme),
          })),
        },
        { kind: 'line' },
        { kind: 'label', text: 'Table rows' },
        { kind: 'check', text: 'Compact', isChosen: isCompact, onChoose: changeRows },
        { kind: 'line' },
        { text: 'Log out', onChoose: () => void logOut() },
      ]}
    />
  );
}
