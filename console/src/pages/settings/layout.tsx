import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { accountApi } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { settingPages } from '../../navigation/pages.ts';
import { useProject } from '../../shell/project.ts';

const readConfig = () => accountApi.get('/config');

/** Layout of the settings, with their own navigation above each page. */
export function SettingsLayout() {
  const { path } = useProject();
  const { data: config } = useRead(['config'], readConfig);
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const isAt = (page: string) =>
    page === 'settings' ? pathname === path(page) : `${pathname}/`.startsWith(`${path(page)}/`);
  const shown = settingPages.filter(
    ([page]) => page !== 'settings/billing' || config?.features.billing.enabled,
  );
  return (
    <>
      <nav className="subnav" aria-label="Settings">
        {shown.map(([page, name]) => (
          <Link
            key={page}
            to={path(page)}
            activeOptions={{ exact: true, includeSearch: false }}
            aria-current={isAt(page) ? 'page' : undefined}
          >
            {name}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}
