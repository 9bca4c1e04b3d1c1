import '../shared/settings.css';
import { accountApi } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { PageHead } from '../../../design/page-head.tsx';
import { Loaded } from '../../../design/parts.tsx';
import { NotFound } from '../../../shell/not-found-page.tsx';
import { useProject } from '../../../shell/project.ts';
import { Consumption } from './consumption.tsx';
import { Invoices } from './invoices.tsx';
import { Limits } from './limits.tsx';
import { Subscription } from './subscription.tsx';

/** The use of the project, its limits and its invoices, if this server has a payment provider. */
export function Page() {
  const config = useRead(['config'], () => accountApi.get('/config'));
  return (
    <Loaded query={config}>
      {({ features }) => (features.billing.enabled ? <Billing /> : <NotFound />)}
    </Loaded>
  );
}

function Billing() {
  const { project } = useProject();
  return (
    <>
      <PageHead title="Billing" project={project.name} actions={<Subscription />} />
      <Consumption />
      <Limits />
      <Invoices />
    </>
  );
}
