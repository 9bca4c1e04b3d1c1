import { useState } from 'react';
import type { Email } from '../../api/api.ts';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { SelectField, TextArea, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { Loaded, State } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { useUser } from '../../shell/user.ts';
import { emailStates } from '../../words/emails.ts';
import { Trace } from '../emails/trace.tsx';
import { useDomains } from './domain.tsx';
import { useServer } from './server.ts';
import { StepCard } from './step-card.tsx';

/** Sends a mail to the user, and shows the states of the mail. */
export function FirstEmail({ isDone }: { isDone: boolean | undefined }) {
  const [sent, setSent] = useState<string | null>(null);
  return (
    <StepCard label="First email" isDone={isDone}>
      <div className={sent === null ? undefined : 'columns'}>
        <Message onSent={setSent} />
        {sent !== null && <Sent id={sent} />}
      </div>
    </StepCard>
  );
}

/** Turns a text into HTML, with its line breaks. */
function htmlOf(text: string): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<p>${safe.replaceAll('\n', '<br>')}</p>`;
}

function Message({ onSent }: { onSent: (id: string) => void }) {
  const { api, project } = useProject();
  const { email } = useUser();
  const { data: domains = [] } = useDomains();
  const senders = domains.filter(({ verified }) => verified).map(({ domain }) => `hello@${domain}`);
  const start = {
    from: '',
    to: email,
    subject: `Hello from ${project.name}`,
    message: 'This is the first mail of this project.',
  };
  const form = useForm(start, async ({ from, to, subject, message }) => {
    const body = { from: from || senders[0]!, to, subject, body: htmlOf(message) };
    const { data } = await api.post('/v1/send', { body });
    const [mail] = data.emails;
    if (mail) onSent(mail.email);
    await readAgain(project.id, 'emails');
  });
  const from = form.field('from');
  return (
    <Form form={form}>
      <SelectField
        label="From"
        options={senders.map((sender) => ({ value: sender, text: sender }))}
        {...from}
        value={from.value || (senders[0] ?? '')}
        hint={senders.length === 0 && 'Addresses of your verified domains.'}
      />
      <TextField label="To" type="email" autoComplete="off" {...form.field('to')} />
      <TextField label="Subject" autoComplete="off" {...form.field('subject')} />
      <TextArea label="Message" {...form.field('message')} error={form.errorOf('body')} />
      <div className="actions">
        <Button
          kind="primary"
          type="submit"
          isBusy={form.isBusy}
          disabledBecause={senders.length === 0 && 'Verify a domain first.'}
        >
          Send email
        </Button>
      </div>
    </Form>
  );
}

const isUnderWay = ({ status }: Email) => ['PENDING', 'SENDING', 'SENT'].includes(status);

function Sent({ id }: { id: string }) {
  const { api, project } = useProject();
  const server = useServer();
  const email = useLive({
    key: [project.id, 'emails', id],
    async read() {
      const mail = await api.get('/emails/{id}', { path: { id } });
      if (mail.sentAt !== null) await readAgain(project.id, 'start');
      return mail;
    },
    isLive: isUnderWay,
  });
  return (
    <div className="stack">
      <Loaded query={email} lines={3}>
        {(mail) => (
          <>
            <State tone={emailStates[mail.status].tone}>{emailStates[mail.status].text}</State>
            <Trace email={mail} />
            {server?.hasMailbox && mail.sentAt !== null && (
              <div className="actions">
                <a
                  className="button primary"
                  href={`/local/mailbox?to=${encodeURIComponent(mail.toEmail)}`}
                  target="_blank"
                  rel="noopener"
                >
                  Open the mailbox
                </a>
              </div>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}
