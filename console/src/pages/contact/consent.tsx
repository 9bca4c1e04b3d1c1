import type { ConsentLine } from '../../api/api.ts';
import { useRead } from '../../api/queries.ts';
import { Card, Loaded, Time } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';

const actions: Record<ConsentLine['action'], string> = {
  requested: 'Asked to confirm',
  confirmed: 'Confirmed',
  expired: 'Did not confirm in time',
  granted: 'Subscribed',
  imported: 'Imported as subscribed',
  withdrawn: 'Unsubscribed',
  address_changed: 'Changed the address',
};

const sources: Record<ConsentLine['source'], string> = {
  api: 'by the API',
  import: 'by an import',
  bulk: 'by a bulk action',
  public_page: 'on a page',
  one_click: 'with one click in the mail program',
  workflow: 'by a workflow',
  inbound: 'by a mail to you',
  bounce: 'after a bounce',
  complaint: 'after a complaint',
  provider: 'by the mail provider',
  double_opt_in: 'by the link in the mail',
};

/** Every consent and withdrawal, with its evidence. */
export function ConsentLog({ id }: { id: string }) {
  const { api, project } = useProject();
  const log = useRead([project.id, 'contacts', 'consent', id], () =>
    api.get('/contacts/{id}/consent', { path: { id } }),
  );
  return (
    <Card label="Consent">
      <Loaded query={log} lines={2}>
        {(lines) =>
          lines.length === 0 ? (
            <p className="second">No consent was recorded.</p>
          ) : (
            <ol className="entries">
              {lines.toReversed().map((line, index) => (
                <Line key={index} line={line} />
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}

function Line({ line }: { line: ConsentLine }) {
  const { at, action, source, topic, ip, userAgent, text, textHash } = line;
  return (
    <li>
      <span>
        {actions[action]} {sources[source]}
        {topic !== null && `, topic ${topic}`} <code>{action}</code>
      </span>
      <span className="second small">
        <Time at={at} />
        {ip !== null && `, from ${ip}`}
        {userAgent !== null && `, ${userAgent}`}
      </span>
      {text !== null && <blockquote className="second">{text}</blockquote>}
      {textHash !== null && (
        <span className="second small">
          SHA-256 of the text: <code>{textHash.slice(0, 16)}…</code>
        </span>
      )}
    </li>
  );
}
