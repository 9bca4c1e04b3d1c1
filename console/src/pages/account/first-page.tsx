import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { base, nextPage, takeNext } from '../../api/session.ts';
import { Bones } from '../../design/parts.tsx';

/**
 * Opens the user's first project, or the page that creates a project. After a sign-in at another
 * site, opens the page that the user had asked for.
 */
export function Page() {
  const navigate = useNavigate();
  const { data: projects } = useRead(['projects'], () => accountApi.get('/users/@me/projects'));
  useEffect(() => {
    if (!projects) return;
    const kept = takeNext();
    if (kept !== null) return location.replace(base + nextPage(kept));
    const [first] = projects;
    void navigate({ to: first ? `/${first.id}` : '/projects/new', replace: true });
  }, [projects, navigate]);
  return <Bones />;
}
