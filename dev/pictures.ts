import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { Everpost } from '../client/everpost.ts';
import { readStackFile } from './servers/stack-file.ts';

/**
 * `npm run pictures`: creates a shop on the running stack, and renews the pictures in `docs/images`
 * from the API's drawings, the console (light and dark) and the Temporal UI. Needs Chromium
 * (CHROMIUM_PATH).
 */

const images = join(import.meta.dirname, '../docs/images');
const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
if (!stack?.temporalUiUrl) {
  console.error('Everpost does not run here. Run "npm start" in another terminal first.');
  process.exit(1);
}
const { apiUrl, temporalUiUrl } = stack;
const owner = { email: `books-${Date.now()}@shop.example`, password: 'a long enough password' };

// Receives the webhooks. Responds with 404 to some contacts and 503 to others, so that steps fail
// and are retried.
const receiver = createServer(async (request, response) => {
  const { who } = JSON.parse(await text(request)) as { who: string };
  const status = /^[d-g]/.test(who) ? 404 : who.startsWith('h') ? 503 : 204;
  response.writeHead(status).end();
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const visitor = new Everpost({ baseUrl: apiUrl, fetch: withCookie });
let cookie = '';
await visitor.post('/auth/signup', { body: owner });
const project = await visitor.post('/users/@me/projects', { body: { name: 'Blue Bottle Books' } });
const shop = new Everpost({ baseUrl: apiUrl, apiKey: project.secret });

const domain = `books-${Date.now()}.test`;
await shop.post('/domains', { body: { domain } });
const template = async (name: string, type: 'TRANSACTIONAL' | 'MARKETING') => {
  const text = `<p>Hello {{name ?? reader}}</p><p><a href="https://books.example/">Our shop</a></p>`;
  const body = { name, type, from: `team@${domain}`, subject: name, body: text };
  return (await shop.post('/templates', { body })).id;
};
const thanks = await template('Thank you', 'TRANSACTIONAL');
const question = await template('How was it?', 'TRANSACTIONAL');
const offer = await template('Offer', 'MARKETING');

const webhook = { url: receiverUrl, body: { who: '{{email}}' } };
const orders = await workflow('Orders', 'order_placed', [
  { type: 'SEND_EMAIL', name: 'Thank you', templateId: thanks },
  {
    type: 'WAIT_FOR_EVENT',
    name: 'Paid?',
    config: { eventName: 'paid', timeout: 86_400, since: 'execution' },
  },
  { type: 'WEBHOOK', name: 'Tell the warehouse', config: { ...webhook, onFailure: 'fail' } },
  { type: 'DELAY', name: 'Three days', config: { amount: 3, unit: 'days' } },
  { type: 'SEND_EMAIL', name: 'How was it?', templateId: question },
]);
await workflow('Cart reminder', 'cart_left', [
  { type: 'WEBHOOK', name: 'Tell the shop', config: webhook },
]);

/** Number of contacts in addition to the contacts in the journeys. */
const readers = 240;
const names = ['ada', 'alan', 'barbara', 'donald', 'edsger', 'frances', 'grace', 'john', 'tony'];
for (const name of names) await track(name, 'order_placed');
for (const name of ['donald', 'frances', 'grace']) await track(name, 'cart_left');
for (const name of ['ada', 'barbara', 'donald', 'edsger', 'frances', 'grace']) {
  await track(name, 'paid');
}
// Some recipients of the campaign have addresses at `simulator.test`, which bounce or complain.
for (let index = 0; index < readers; index += 1) {
  const kind = { 3: 'bounce', 7: 'softbounce', 31: 'complaint' }[index % 40] ?? 'success';
  const body = { email: `${kind}+reader${index}@simulator.test`, subscribed: index % 12 > 0 };
  await shop.post('/contacts', { body });
}
const campaign = await shop.post('/campaigns', {
  body: { name: 'Spring sale', audienceType: 'ALL', templateId: offer },
});
await shop.post('/campaigns/{id}/send', { path: { id: campaign.data.id }, body: {} });

const delayed = await executionOf('ada', 'WAITING Three days');
const completed = await executionOf('barbara', 'WAITING Three days');
await shop.patch('/workflows/{id}/executions/{executionId}/wait', {
  path: { id: orders, executionId: completed.id },
  body: { shiftBySeconds: -3 * 86_400 },
});
const failed = await executionOf('donald', 'FAILED');
await executionOf('barbara', 'COMPLETED');

for (const [name, path] of [
  ['graph', `/workflows/${orders}/graph.svg?stats=true`],
  ['execution', `/workflows/${orders}/executions/${failed.id}/graph.svg`],
] as const) {
  const headers = { authorization: `Bearer ${project.secret}` };
  const drawing = await (await fetch(apiUrl + path, { headers })).text();
  await writeFile(join(images, `${name}.svg`), drawing);
}

// The commands in journeys.md create the pictures of that page.
const journeys = await readFile(join(images, '../journeys.md'), 'utf8');
const commands = [...journeys.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
const folder = await mkdtemp(join(tmpdir(), 'everpost-pictures-'));
execFileSync('bash', ['-c', commands.join('\n').replaceAll('http://localhost:8080', apiUrl)], {
  cwd: folder,
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const name of ['before', 'after']) {
  await copyFile(join(folder, `${name}.svg`), join(images, `journey-${name}.svg`));
}
await rm(folder, { recursive: true });

const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1_240, height: 800 } });
await page.goto(`${apiUrl}/console/auth/login`);
await page.getByLabel('Email').fill(owner.email);
await page.getByLabel('Password').fill(owner.password);
await page.getByRole('button', { name: 'Log in', exact: true }).click();
await page.getByRole('navigation', { name: 'Main' }).waitFor();
await readMails();
await consolePage('overview', '');
await consolePage('campaign', `/campaigns/${campaign.data.id}`);
await page.setViewportSize({ width: 1_480, height: 860 });
await consolePage('journey', `/workflows/${orders}/edit`);
await page.setViewportSize({ width: 1_240, height: 800 });
await consolePage('failures', '/failures');

await track('henry', 'order_placed');
await track('henry', 'paid');
const retried = await executionOf('henry', 'Tell the warehouse');
await temporal('details', `${runOf(delayed)}/user-metadata`, { width: 1_440, height: 480 });
await temporal('find', `?query=${encodeURIComponent(`ProjectId="${project.id}"`)}`, {});
const history = { from: 'Event History' };
await temporal('retrying', runOf(retried), history);
await temporal('waiting', runOf(delayed), history);
await temporal('completed', runOf(completed), { ...history, height: 440 });
await temporal('failed', runOf(failed), { ...history, height: 600 });
await browser.close();
receiver.close();

/** Sends a request with the session that a response has started. */
async function withCookie(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (cookie) headers.set('cookie', cookie);
  const response = await fetch(url, { ...init, headers });
  cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
  return response;
}

type Step = Record<string, unknown> & { type: string; name: string };

/** Creates and enables a workflow whose steps follow one another. Returns its id. */
async function workflow(name: string, eventName: string, steps: Step[]): Promise<string> {
  const keyed = [
    { key: 'trigger', type: 'TRIGGER' },
    ...steps.map((step, at) => ({ config: {}, ...step, key: `step-${at}` })),
  ];
  const transitions = steps.map((step, at) => ({
    from: keyed[at]!.key,
    to: `step-${at}`,
    ...(steps[at - 1]?.type === 'WAIT_FOR_EVENT' && { branch: 'event' }),
  }));
  const trigger = { type: 'EVENT', config: { eventName } };
  const body = { name, enabled: true, graph: { trigger, steps: keyed, transitions } };
  return (await shop.post('/workflows', { body: body as never })).id;
}

async function track(name: string, event: string): Promise<void> {
  const body = { email: `${name}@shop.example`, event, data: { name } };
  await shop.post('/v1/track', { body });
}

/**
 * Returns the execution of a contact once its status and step contain `state`, such as `WAITING
 * Paid?`.
 */
async function executionOf(name: string, state: string) {
  for (let patience = 300; patience > 0; patience -= 1) {
    const request = { path: { id: orders }, query: { pageSize: 100 } };
    const { executions } = await shop.get('/workflows/{id}/executions', request);
    const found = executions.find(
      ({ contact, status, currentStep }) =>
        contact.email.startsWith(name) && `${status} ${currentStep?.name}`.includes(state),
    );
    if (found) return found;
    await sleep(200);
  }
  throw new Error(`The execution of ${name} is not "${state}" after a minute.`);
}

/** Returns the path of an execution's run in the Temporal UI. */
function runOf(execution: Awaited<ReturnType<typeof executionOf>>): string {
  return `/${execution.temporalWorkflowId}/${execution.temporalRunId}`;
}

/**
 * Opens some mails of the campaign as people do, a while after they came, and follows their links.
 */
async function readMails(): Promise<void> {
  const browserName = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0' };
  await sleep(5_000);
  for (let index = 0; index < readers; index += 5) {
    const to = `success+reader${index}@simulator.test`;
    const [mail] = await shop.get('/local/mailbox', { query: { to } });
    if (!mail) continue;
    const { html } = await shop.get('/local/mailbox/{id}', { path: { id: mail.id } });
    const [pixel] = /http[^"]*\/t\/o\/[^"]*/.exec(html ?? '') ?? [];
    const [link] = /http[^"]*\/t\/c\/[^"]*/.exec(html ?? '') ?? [];
    if (pixel) await fetch(pixel, { headers: browserName });
    if (!link || index % 3 > 0) continue;
    const redirect = 'manual';
    await fetch(link.replaceAll('&amp;', '&'), { headers: browserName, redirect });
  }
  // The verdict on an open or click comes some seconds later.
  await sleep(8_000);
}

/** Takes a picture of a page of the console, in light and in dark. */
async function consolePage(name: string, path: string): Promise<void> {
  await page.goto(`${apiUrl}/console/${project.id}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // The page reads data, and then draws charts and the canvas.
    await page.waitForLoadState('networkidle');
    await sleep(1_000);
    const file = `console-${name}${colorScheme === 'dark' ? '-dark' : ''}.png`;
    await page.screenshot({ path: join(images, file) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Takes a picture of a page of the Temporal UI, from the heading `from` or from the top. */
async function temporal(
  name: string,
  path: string,
  { from, width = 1_200, height = 410 }: { from?: string; width?: number; height?: number },
): Promise<void> {
  await page.setViewportSize({ width, height: 2_000 });
  await page.goto(`${temporalUiUrl}/namespaces/default/workflows${path}`);
  // The UI continues to load and draw for a while after its last request.
  await sleep(4_000);
  const box =
    from === undefined ? null : await page.getByRole('heading', { name: from }).boundingBox();
  const clip = { x: 64, y: (box?.y ?? 60) - 4, width: width - 64, height };
  await page.screenshot({ path: join(images, `${name}.png`), clip });
}
