import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Everpost } from '../client/everpost.ts';
import { readStackFile } from './servers/stack-file.ts';

/**
 * `npm run demo`: a typical use of the running stack, only through the public API: account,
 * project, sender domain, template, workflow, event, and the resulting mails.
 */

const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
const apiUrl = process.env['API_URL'] ?? stack?.apiUrl;
if (!apiUrl) {
  console.error(
    'Everpost does not run here. Run "npm start" in another terminal first, or set API_URL.',
  );
  process.exit(1);
}
const api = apiUrl;

let cookie = '';

/**
 * Sends a request, and prints one line about it. Keeps the session cookie if the response sets one.
 */
async function told(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  console.log(`  ${init.method?.padEnd(5)} ${url.slice(api.length)} ${response.status}`);
  cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
  return response;
}

/** Creates a client of the API. An error of the client ends the demo. */
const clientWith = (apiKey?: string) =>
  new Everpost({ baseUrl: api, fetch: told, ...(apiKey === undefined ? {} : { apiKey }) });

const mark = randomBytes(4).toString('hex');
const owner = `demo-${mark}@everpost.example`;
const password = randomBytes(12).toString('hex');
const ada = `ada-${mark}@shop.example`;

console.log('\nAn account, a project and its keys');
const visitor = clientWith();
await visitor.post('/auth/signup', {
  body: { email: owner, password },
});
const session = { headers: { cookie } };
const { emailVerified } = await visitor.get('/users/@me', session);
if (!emailVerified) {
  const [mail] = await waitForMails(owner, 1);
  const { html } = await fromMailbox<{ html: string }>(`/${mail?.id}`);
  const token = /[?&]token=(\w+)/.exec(html)?.[1] ?? '';
  await visitor.post('/auth/verify-email', { body: { token }, ...session });
}
const project = await visitor.post('/users/@me/projects', {
  body: { name: 'Demo shop' },
  ...session,
});
const shop = clientWith(project.secret);

console.log('\nA sender domain (.test verifies at once on a laptop), a template, a workflow');
const domain = `shop-${mark}.test`;
const from = `team@${domain}`;
await shop.post('/domains', { body: { domain } });
const template = await shop.post('/templates', {
  body: {
    name: 'Welcome',
    subject: 'Welcome, {{name ?? friend}}',
    body: '<p>Hi {{name ?? friend}}, your plan is <b>{{plan}}</b>.</p>',
    type: 'TRANSACTIONAL',
    from,
  },
});
const workflow = await shop.post('/workflows', {
  body: { name: 'Welcome series', eventName: 'signed_up' },
});
const path = { id: workflow.id };
await shop.post('/workflows/{id}/steps', {
  path,
  body: { type: 'SEND_EMAIL', name: 'Welcome mail', config: {}, templateId: template.id },
});
await shop.patch('/workflows/{id}', { path, body: { enabled: true } });

console.log('\nThe event that starts it, and a mail sent directly');
await clientWith(project.public).post('/v1/track', {
  body: { email: ada, event: 'signed_up', data: { name: 'Ada', plan: 'pro' } },
});
await shop.post('/v1/send', {
  body: { to: ada, from, subject: 'Your receipt', body: '<p>Thank you, {{name}}.</p>' },
});

console.log('\nWaiting for the mails');
const mails = await waitForMails(ada, 2);
for (const mail of mails) console.log(`  "${mail.subject}" from ${mail.from} to ${mail.to}`);

const { executions } = await shop.get('/workflows/{id}/executions', { path });
const run = executions[0];
console.log(`\nThe workflow's execution is ${run?.status}.`);
console.log('\nLook around');
console.log(`  Console       ${api}/console`);
console.log(`  Log-in        ${owner}`);
console.log(`  Password      ${password}`);
console.log(`  Secret key    ${project.secret}`);
console.log(`  Public key    ${project.public}`);
console.log(`  Sends as      ${from}`);
console.log(`  Mailbox       ${api}/local/mailbox`);
if (stack?.temporalUiUrl) {
  console.log(
    `  Temporal run  ${stack.temporalUiUrl}/namespaces/default/workflows/${run?.temporalWorkflowId}`,
  );
}
console.log('');

interface MailSummary {
  id: string;
  from: string;
  to: string;
  subject: string;
}

async function fromMailbox<T>(path: string): Promise<T> {
  return (await (await fetch(`${api}/local/mailbox${path}`)).json()) as T;
}

async function waitForMails(to: string, count: number): Promise<MailSummary[]> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    const found = await fromMailbox<MailSummary[]>(`?to=${encodeURIComponent(to)}`);
    if (found.length >= count) return found;
    if (Date.now() > giveUpAt) {
      console.error(
        `Only ${found.length} of ${count} mails to ${to} arrived within a minute. The terminal of "npm start" shows errors.`,
      );
      process.exit(1);
    }
    await sleep(100);
  }
}
