import { Link } from '@tanstack/react-router';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { TimelineEntry } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { shownValue } from '../../values/kinds.ts';
import { textOfReason } from '../../words/reasons.ts';

/** The contact's events, mail and executions. Mail that was not sent is shown with the reason. */
export function Timeline({ id }: { id: string }) {
  const { api, project } = useProject();
  const pages = useInfiniteQuery({
    queryKey: [project.id, 'contacts', 'timeline', id],
    queryFn: ({ pageParam }) =>
      api.get('/contacts/{id}/timeline', {
        path: { id },
        query: { limit: 50, ...(pageParam !== '' && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
  });
  return (
    <Card label="What happened">
      <Loaded query={pages}>
        {(all) => {
          const entries = all.pages.flatMap(({ data }) => data);
          return (
            <>
              {entries.length === 0 && <p className="second">Nothing has happened yet.</p>}
              <ol className="entries" aria-label="Timeline">
                {entries.map((entry, index) => (
                  <li key={index}>
                    <Sentence entry={entry} />
                    <span className="second small">
                      <Time at={entry.at} />
                    </span>
                  </li>
                ))}
              </ol>
              {pages.hasNextPage && (
                <div className="actions">
                  <Button
                    isBusy={pages.isFetchingNextPage}
                    onClick={() => void pages.fetchNextPage()}
                  >
                    Show more
                  </Button>
                </div>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

function Sentence({ entry }: { entry: TimelineEntry }) {
  const { path } = useProject();
  const { type, title, detail, links } = entry;
  const text = (key: string) => (typeof detail[key] === 'string' ? detail[key] : null);
  const code = text('reasonCode') ?? text('reason');
  const reason = code !== null && code !== 'sent' && (
    <>
      {' '}
      {textOfReason(code)} <code>{code}</code>
    </>
  );
  const campaign = links.campaign && path(`campaigns/${links.campaign}`);
  const email = links.email && path(`emails/${links.email}`);
  const execution =
    links.workflow &&
    path(`workflows/${links.workflow}${links.execution ? `/executions/${links.execution}` : ''}`);
  if (type === 'not_reached') {
    return (
      <span>
        Not reached by <About to={campaign ?? email}>{title}</About>.{reason}
      </span>
    );
  }
  if (type === 'email') {
    return (
      <span>
        {text('status') === 'RECEIVED' ? 'Wrote' : 'Mail'} <About to={email}>{title}</About>:{' '}
        {mailState(entry)}.{reason}
      </span>
    );
  }
  if (type === 'execution') {
    return (
      <span>
        Workflow <About to={execution}>{title}</About>: {(text('status') ?? '').toLowerCase()}.
        {text('explanation') && ` ${text('explanation')}`} {text('error')}
      </span>
    );
  }
  if (type === 'event') {
    return (
      <span>
        <About to={email}>{title}</About>
        <Data data={detail['data']} />
      </span>
    );
  }
  return (
    <span>
      <About to={execution}>{title}</About>
    </span>
  );
}

const mailStates: Record<string, string> = {
  PENDING: 'waits',
  SENDING: 'is being sent',
  SENT: 'sent',
  DELIVERED: 'delivered',
  OPENED: 'opened',
  CLICKED: 'clicked',
  BOUNCED: 'bounced',
  COMPLAINED: 'marked as spam',
  FAILED: 'not sent',
  RECEIVED: 'received',
};

const mailState = ({ detail }: TimelineEntry) => mailStates[String(detail['status'])] ?? 'queued';

function About({ to, children }: { to: string | undefined; children: string }) {
  return to ? <Link to={to}>{children}</Link> : <strong>{children}</strong>;
}

/** The data of an event, shortened. */
function Data({ data }: { data: unknown }) {
  if (typeof data !== 'object' || data === null) return null;
  const all = Object.entries(data);
  if (all.length === 0) return null;
  const shown = all.slice(0, 4).map(([key, value]) => `${key} ${shownValue(value)}`);
  return (
    <span className="second">
      {' '}
      with {[...shown, all.length > 4 && '…'].filter(Boolean).join(', ')}
    </span>
  );
}
