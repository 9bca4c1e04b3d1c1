import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStackFile } from './servers/stack-file.ts';

/**
 * `npm run demo`: plays the main job against the running stack, through the public API only:
 * account, project, sender domain, template, workflow, event, and the resulting mails.
 */

interface Json {
  [key: string]: never;
}

const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
const apiUrl = process.env['API_URL'] ?? stack?.apiUrl;
if (!apiUrl) {
  console.error('Nothing is running here. Run "npm start" in another terminal first.');
  process.exit(1);
}
const api = apiUrl;

/** Sends one request, prints it in one line and returns its body. Ends the demo on an error. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ body: Json; cookie: string }> {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  console.log(`  ${method.padEnd(5)} ${path} ${response.status}`);
  if (!response.ok) {
    console.error(text);
    process.exit(1);
  }
  return {
    body: JSON.parse(text) as Json,
    cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  };
}

const mark = randomBytes(4).toString('hex');
const owner = `demo-${mark}@everpost.example`;
const ada = `ada-${mark}@shop.example`;

console.log('\nAn account, a project and its keys');
const { cookie } = await call('POST', '/auth/signup', {
  email: owner,
  password: randomBytes(12).toString('hex'),
});
const { emailVerified } = (await call('GET', '/users/@me', undefined, { cookie })).body;
if (!emailVerified) {
  const [mail] = await waitForMails(owner, 1);
  const { html } = await fromMailbox<{ html: string }>(`/${mail?.id}`);
  const token = /[?&]token=(\w+)/.exec(html)?.[1];
  await call('POST', '/auth/verify-email', { token }, { cookie });
}
const project = (await call('POST', '/users/@me/projects', { name: 'Demo shop' }, { cookie })).body;
const key = { authorization: `Bearer ${String(project['secret'])}` };

console.log('\nA sender domain (.test verifies at once on a laptop), a template, a workflow');
const domain = `shop-${mark}.test`;
await call('POST', '/domains', { domain }, key);
const template = (
  await call(
    'POST',
    '/templates',
    {
      name: 'Welcome',
      subject: 'Welcome, {{name ?? friend}}',
      body: '<p>Hi {{name ?? friend}}, your plan is <b>{{plan}}</b>.</p>',
      type: 'TRANSACTIONAL',
      from: `team@${domain}`,
    },
    key,
  )
).body;
const workflow = (
  await call('POST', '/workflows', { name: 'Welcome series', eventName: 'signed_up' }, key)
).body;
const workflowPath = `/workflows/${String(workflow['id'])}`;
await call(
  'POST',
  `${workflowPath}/steps`,
  { type: 'SEND_EMAIL', name: 'Welcome mail', config: {}, templateId: template['id'] },
  key,
);
await call('PATCH', workflowPath, { enabled: true }, key);

console.log('\nThe event that starts it, and a mail sent directly');
const publicKey = { authorization: `Bearer ${String(project['public'])}` };
await call(
  'POST',
  '/v1/track',
  { email: ada, event: 'signed_up', data: { name: 'Ada', plan: 'pro' } },
  publicKey,
);
await call(
  'POST',
  '/v1/send',
  { to: ada, from: `team@${domain}`, subject: 'Your receipt', body: '<p>Thank you, {{name}}.</p>' },
  key,
);

console.log('\nWaiting for the mails');
const mails = await waitForMails(ada, 2);
for (const mail of mails) console.log(`  "${mail.subject}" from ${mail.from} to ${mail.to}`);

const { executions } = (await call('GET', `${workflowPath}/executions`, undefined, key))
  .body as unknown as { executions: { temporalWorkflowId: string; status: string }[] };
const run = executions[0];
console.log(`\nThe workflow's execution is ${run?.status}.`);
console.log(`  Secret key    ${String(project['secret'])}`);
console.log(`  Public key    ${String(project['public'])}`);
console.log(`  Sends as      team@${domain}`);
console.log(`  Mailbox       ${api}/local/mailbox`);
if (stack?.temporalUiUrl) {
  console.log(
    `  Its run       ${stack.temporalUiUrl}/namespaces/default/workflows/${run?.temporalWorkflowId}`,
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
      console.error(`Only ${found.length} of ${count} mails arrived within a minute.`);
      process.exit(1);
    }
    await sleep(100);
  }
}
