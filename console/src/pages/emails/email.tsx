import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Email, EverpostError } from '../../api/api.ts';
import { useLive } from '../../api/queries.ts';
import { PageHead } from '../../design/page-head.tsx';
import { Card, Loaded, State, FactList } from '../../design/parts.tsx';
import { useParam } from '../../shell/address.ts';
import { NotFound } from '../../shell/not-found-page.tsx';
import { useProject } from '../../shell/project.ts';
import { emailSources, emailStates } from '../../words/emails.ts';
import { textOfReason } from '../../words/reasons.ts';
import { fullTime } from '../../words/times.ts';
import { EmailActions } from './email-actions.tsx';
import { EmailBody } from './email-body.tsx';
import { Trace } from './trace.tsx';

const isUnderWay = ({ status }: Email) => status !== 'FAILED' && status !== 'RECEIVED';

/** One mail: its states, and its content. */
export function Page() {
  const { project, api, path } = useProject();
  const id = useParam('emailId');
  const email = useLive({
    key: [project.id, 'emails', id],
    read: () => api.get('/emails/{id}', { path: { id } }),
    isLive: isUnderWay,
  });
  const { error } = email;
  if (error instanceof EverpostError && [404, 422].includes(error.status)) return <NotFound />;
  return (
    <Loaded query={email} lines={8}>
      {(mail) => (
        <>
          <PageHead
            title={mail.subject || '(no subject)'}
            project={project.name}
            trail={<Link to={path('emails')}>All emails</Link>}
            state={
              <State tone={emailStates[mail.status].tone}>{emailStates[mail.status].text}</State>
            }
            actions={mail.status === 'PENDING' && <EmailActions email={mail} />}
          />
          <div className="columns">
            <Facts email={mail} />
            <Card label="Trace">
              <Trace email={mail} />
            </Card>
          </div>
          <Card label="Content">
            <EmailBody email={mail} />
          </Card>
        </>
      )}
    </Loaded>
  );
}

function Facts({ email }: { email: Email }) {
  const { path } = useProject();
  const { campaignId, templateId, contactId } = email;
  const facts: [string, ReactNode][] = [
    ['To', <Link to={path(`contacts/${contactId}`)}>{email.toEmail}</Link>],
    ['From', email.fromName ? `${email.fromName} <${email.from}>` : email.from],
    ['Source', emailSources[email.sourceType]],
    ['Campaign', campaignId && <Link to={path(`campaigns/${campaignId}`)}>Show the campaign</Link>],
    ['Template', templateId && <Link to={path(`templates/${templateId}`)}>Show the template</Link>],
    [
      'Why not sent',
      email.reasonCode && (
        <>
          {textOfReason(email.reasonCode)} <code className="second">{email.reasonCode}</code>
        </>
      ),
    ],
    ['Error', email.error !== email.reasonCode && email.error],
    ['To be sent', email.scheduledFor && fullTime(email.scheduledFor)],
    ['Opens', email.opens > 0 && email.opens],
    ['Clicks', email.clicks > 0 && email.clicks],
    ['Message id', email.messageId && <code>{email.messageId}</code>],
  ];
  return (
    <Card label="Details">
      <FactList facts={facts} />
    </Card>
  );
}
