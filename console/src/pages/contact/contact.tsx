import '../contacts/contacts.css';
import { Link } from '@tanstack/react-router';
import { EverpostError } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Loaded } from '../../design/parts.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { SubscriptionState } from '../contacts/contact-table.tsx';
import { ContactActions } from './actions.tsx';
import { ConsentLog } from './consent.tsx';
import { DataCard, SegmentsCard, SuppressionCard } from './facts.tsx';
import { EmailsCard, WorkflowsCard } from './mail.tsx';
import { Timeline } from './timeline.tsx';
import { TopicsCard } from './topics.tsx';

export function Page() {
  const { project, api, path } = useProject();
  const id = useParam('contactId');
  const contact = useLive({
    key: [project.id, 'contacts', 'one', id],
    read: () => api.get('/contacts/{id}', { path: { id } }),
  });
  const isGone =
    contact.error instanceof EverpostError && [404, 422].includes(contact.error.status);
  if (isGone) return <NotFound />;
  return (
    <Loaded query={contact}>
      {(data) => (
        <>
          <PageHead
            title={data.email}
            project={project.name}
            trail={<Link to={path('contacts')}>All contacts</Link>}
            state={<SubscriptionState contact={data} />}
            actions={<ContactActions contact={data} />}
          />
          <div className="contact">
            <div className="stack">
              <DataCard contact={data} />
              <TopicsCard id={data.id} />
              <SegmentsCard id={data.id} />
              <SuppressionCard email={data.email} />
              <WorkflowsCard id={data.id} />
              <EmailsCard id={data.id} />
              <ConsentLog id={data.id} />
            </div>
            <Timeline id={data.id} />
          </div>
        </>
      )}
    </Loaded>
  );
}
