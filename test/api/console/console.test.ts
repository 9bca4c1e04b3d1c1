import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { consolePages } from '../../../api/console/pages/console.ts';
import { cookieOf, useApi } from '../../support/api.ts';
import { addAuthenticator, cookiesOf } from '../../support/second-factor.ts';
import { useSmtpPeer } from '../../support/fakes/smtp-peer.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';

const api = await useApi();
const ada = await api.signUp();
const password = 'a password';
const project = await api.createProject(ada.cookie, 'Ada & <sons>');
const bob = await api.signUp();
const bobs = await api.createProject(bob.cookie);
const home = `/console/${project.id}`;

const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, body });

/** Joins the page to one line, as a browser shows it. */
const inOne = (page: string) => page.replaceAll(/\s+/g, ' ');

/** Opens a page. Returns it, and the fields that a browser then sends with the next form. */
async function open(path: string, cookie = ada.cookie) {
  const { status, headers, body } = await api.request('GET', path, { cookie });
  const secret = /everpost_console=\w+/.exec(headers.get('set-cookie') ?? '')?.[0] ?? '';
  const token = /name="token" value="([\w-]+)"/.exec(inOne(body))?.[1] ?? '';
  return { status, headers, html: inOne(body as string), token, cookie: `${cookie}; ${secret}` };
}

/** Sends a form of a page. */
function press(path: string, fields: Record<string, string>, cookie: string) {
  return api.request('POST', path, {
    cookie,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
}

describe('every page of the console', () => {
  const pages = consolePages.filter(({ method }) => method === 'GET');
  const names = ['page', 'pageSize', 'search', 'email', 'status', 'cursor', 'done', 'other'];
  const query = (value: string) => names.map((name) => `${name}=${value}`).join('&');

  it.each(pages.map(({ path }) => path))(
    '%s refuses repeated parameters with 400',
    async (path) => {
      const at = path.replace('{projectId}', project.id).replaceAll(/\{\w+\}/g, randomUUID());
      for (const name of names) {
        const { status, html } = await open(`${at}?${name}=1&${name}=2`);
        expect([path, name, status]).toEqual([path, name, 400]);
        expect(html).toContain(`has the parameter ${name} more than once`);
      }
      for (const value of ['', '%00', '%ZZ', '-1', '9'.repeat(30), '__proto__', '%ED%A0%80']) {
        const { status } = await open(`${at}?${query(value)}`);
        expect([path, value, status < 500]).toEqual([path, value, true]);
      }
    },
  );
});

describe('the console', () => {
  it('asks who is there before it shows anything', async () => {
    for (const path of ['/console', home, `${home}/failures`]) {
      const { status, html, headers } = await open(path, 'a=b');
      expect([path, status, headers.get('content-type')]).toEqual([
        path,
        401,
        'text/html; charset=utf-8',
      ]);
      expect(html).toContain(`<input type="hidden" name="next" value="${path}" />`);
    }
  });

  it('lets in who knows the password, to the page that was asked for', async () => {
    const email = 'carl@users.test';
    await api.request('POST', '/auth/signup', { body: { email, password } });
    const { token, cookie } = await open('/console', 'a=b');
    const wrong = await press(
      '/console/log-in',
      { token, email, password: 'not it, is it', next: home },
      cookie,
    );
    expect([wrong.status, wrong.body.includes('role="alert"')]).toEqual([401, true]);
    expect(inOne(wrong.body)).toContain(`name="next" value="${home}"`);
    const right = await press('/console/log-in', { token, email, password, next: home }, cookie);
    expect([right.status, right.headers.get('location')]).toEqual([303, home]);
    expect(right.headers.get('set-cookie')).toContain('everpost_session=');
  });

  it('asks for the code of a second factor', async () => {
    const email = 'factor@users.test';
    const made = await api.request('POST', '/auth/signup', { body: { email, password } });
    const app = await addAuthenticator(api, cookieOf(made));
    const { token, cookie } = await open('/console', 'a=b');
    const asked = await press('/console/log-in', { token, email, password, next: home }, cookie);
    expect([asked.status, asked.body.includes('Code of your app')]).toEqual([200, true]);
    const pending = `${cookie}; ${cookiesOf(asked)}`;
    const prove = (code: string) =>
      press('/console/second-factor', { token, code, next: home }, pending);
    const wrong = await prove('000 000');
    expect([wrong.status, wrong.body.includes('role="alert"')]).toEqual([401, true]);
    const right = await prove(app.code());
    expect([right.status, right.headers.get('location')]).toEqual([303, home]);
    expect(right.headers.get('set-cookie')).toContain('everpost_session=');
    const over = await prove(app.code(1));
    expect([over.status, over.body.includes('Log in again')]).toEqual([401, true]);
  });

  it.each([
    'https://evil.example/console',
    '//evil.example',
    '/console/../auth/logout',
    '/console\\@evil.example',
    '',
  ])('never leads to %s', async (next) => {
    const email = `next${Math.abs(next.length)}@users.test`;
    await api.request('POST', '/auth/signup', { body: { email, password } });
    const { token, cookie } = await open('/console', 'a=b');
    const { status, headers } = await press(
      '/console/log-in',
      { token, email, password, next },
      cookie,
    );
    expect([status, headers.get('location')]).toEqual([303, '/console']);
  });

  it('begins with the overview of the only project, whose name is text', async () => {
    const { status, html } = await open('/console');
    expect(status).toBe(200);
    expect(html).toContain('<h1>Ada &amp; &lt;sons&gt;</h1>');
    expect((await open(home)).html).toContain('<h1>Ada &amp; &lt;sons&gt;</h1>');
  });

  it('shows nothing of a project to who is no member of it', async () => {
    for (const path of [
      '',
      '/failures',
      '/contacts?email=a@b.test',
      '/workflows',
      '/campaigns',
      '/templates',
      '/domains',
      '/providers',
      '/routing',
    ]) {
      const { status, html } = await open(`${home}${path}`, bob.cookie);
      expect([path, status, html.includes('PROJECT_NOT_FOUND')]).toEqual([path, 404, true]);
      expect(html).not.toContain('Ada');
    }
  });

  it('shows what is hardly meant in the graph of a workflow', async () => {
    const made = await call('POST', '/workflows', { name: 'Onboarding', eventName: 'joined' });
    const page = `${home}/workflows/${made.body.id}`;
    expect((await open(page)).html).not.toContain('Warnings');
    const step = { type: 'EXIT', name: 'Lost <1>', config: {}, autoConnect: false };
    await call('POST', `/workflows/${made.body.id}/steps`, step);
    const { html } = await open(page);
    expect(html).toContain('unreachable step');
    expect(html).toContain('No path leads from the trigger to &quot;Lost &lt;1&gt;&quot;');
  });

  it('takes no form without the token of its page and session', async () => {
    const made = await call('POST', '/workflows', { name: 'Onboarding', eventName: 'joined' });
    const path = `${home}/workflows/${made.body.id}/pause`;
    const { token, cookie } = await open(home);
    const other = await open('/console', bob.cookie);
    const attempts = [
      await press(path, {}, cookie),
      await press(path, { token: `${token}x` }, cookie),
      await press(path, { token }, ada.cookie),
      await press(path, { token: other.token }, cookie),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(attempts[0]?.body).toContain(
      'The form was opened in another browser session, or the browser sent no cookie',
    );
    expect((await call('GET', `/workflows/${made.body.id}`)).body.pausedAt).toBeNull();

    const right = await press(path, { token }, cookie);
    expect([right.status, right.headers.get('location')]).toEqual([
      303,
      `${home}/workflows/${made.body.id}?done=paused`,
    ]);
    expect((await call('GET', `/workflows/${made.body.id}`)).body.pausedAt).not.toBeNull();
    expect((await open(`${home}/workflows/${made.body.id}?done=paused`)).html).toContain('Paused.');
  });

  it('shows the records of a domain', async () => {
    const { body: domain } = await call('POST', '/domains', { domain: `${randomUUID()}.dev` });
    expect((await open(`${home}/domains`)).html).toContain(`/domains/${domain.id}"`);
    const { html } = await open(`${home}/domains/${domain.id}`);
    expect(html).toContain(`_dmarc.${domain.domain}. 3600 IN TXT &quot;v=DMARC1; p=none&quot;`);
    expect(html).toContain('the mail provider');
  });

  it('shows, tries and replaces the routes of mail', async () => {
    const page = `${home}/routing`;
    const { html, token, cookie } = await open(page);
    expect(html).toContain('No routes yet');
    const routes = [{ match: { receivers: ['*.edu'] }, providers: [{ id: 'default' }] }];
    const save = (text: string) => press(page, { token, routes: text }, cookie);
    expect((await save('[{')).status).toBe(422);
    const unknown = [{ match: {}, providers: [{ id: 'nobody' }] }];
    const refused = await save(JSON.stringify(unknown));
    expect([refused.status, refused.body]).toEqual([
      422,
      expect.stringContaining('routes.0.providers.0.id'),
    ]);
    const saved = await save(JSON.stringify(routes));
    expect([saved.status, saved.headers.get('location')]).toEqual([303, `${page}?done=routed`]);
    const query = new URLSearchParams({ from: 'a@shop.test', to: 'b@mit.edu' });
    const shown = await open(`${page}?${query.toString()}`);
    for (const text of ['to *.edu', 'default (1)', 'Route 0 decides', 'usable']) {
      expect(shown.html).toContain(text);
    }
  });

  it('shows the mail providers, and disables one', async () => {
    const server = {
      kind: 'smtp',
      host: 'smtp.example.com',
      user: 'us',
      password: 'the-word-of-ours',
    };
    const { body: provider } = await call('POST', '/providers', { name: 'Ours <1>', ...server });
    const page = `${home}/providers/${provider.id}`;
    const list = await open(`${home}/providers`);
    expect(list.html).toContain('Ours &lt;1&gt;');
    expect(list.html).toContain('of this server');
    const { html, token, cookie } = await open(page);
    expect(html).toContain('smtp.example.com:587');
    expect(html).not.toContain('the-word-of-ours');
    const pressed = await press(`${page}/disable`, { token }, cookie);
    expect(pressed.headers.get('location')).toBe(`${page}?done=disabled`);
    expect((await open(page)).html).toContain('Enable');
    expect((await call('GET', `/providers/${provider.id}`)).body.enabled).toBe(false);
    expect((await open(`${home}/providers/default`)).html).not.toContain('smtp.example.com');
  });

  it('tests a mail provider, and shows the answer of the server', async () => {
    const server = await useSmtpPeer((command) => {
      if (command.startsWith('EHLO')) return '250-peer\r\n250 AUTH PLAIN';
      return command.startsWith('AUTH') ? '535 5.7.8 <wrong> password' : undefined;
    });
    const address = { kind: 'smtp', host: '127.0.0.1', port: server.port, security: 'none' };
    const test = async (given: object) => {
      const { body } = await call('POST', '/providers', { ...address, ...given });
      const page = `${home}/providers/${body.id}`;
      const { html, token, cookie } = await open(page);
      expect(inOne(html)).toContain(`${page}/test`);
      const pressed = await press(`${page}/test`, { token }, cookie);
      return { status: pressed.status, html: inOne(pressed.body) };
    };
    const right = await test({ name: 'Open server' });
    expect(right.status).toBe(200);
    expect(right.html).toContain('It connects and logs in.');
    const wrong = await test({ name: 'Wrong password', user: 'us', password: 'wrong' });
    expect(wrong.html).toContain('It failed to log in.');
    expect(wrong.html).toContain('535 5.7.8 &lt;wrong&gt; password');
  });

  it('shows ramps, and has them paused and resumed', async () => {
    const given = { domain: 'warm.example', startPerDay: 50, days: 14 };
    const { body: ramp } = await api.request('POST', '/ramps', {
      key: project.secretKey,
      body: given,
    });
    const { html, token, cookie } = await open(`${home}/ramps`);
    expect(inOne(html)).toContain('from warm.example');
    expect(inOne(html)).toContain('0 of 50');
    const path = `${home}/ramps/${ramp.id}`;
    expect((await press(`${path}/pause`, { token }, cookie)).status).toBe(303);
    const paused = await open(`${home}/ramps`);
    expect(inOne(paused.html)).toContain('paused');
    expect(inOne(paused.html)).toContain(`${path}/resume`);
    await api.request('DELETE', `/ramps/${ramp.id}`, { key: project.secretKey });
  });

  it('lists the versions of a workflow with their changes, and restores one', async () => {
    const made = await call('POST', '/workflows', { name: 'Edited', eventName: 'joined' });
    const page = `${home}/workflows/${made.body.id}`;
    const step = { type: 'DELAY', name: 'Two <days>', config: { amount: 2, unit: 'days' } };
    await call('POST', `/workflows/${made.body.id}/steps`, step);
    const { html, token, cookie } = await open(page);
    expect(html).toContain('Two &lt;days&gt;: added');
    expect(html).toContain('<td>Secret key</td>');
    const pressed = await press(`${page}/restore`, { token, version: '1' }, cookie);
    expect([pressed.status, pressed.headers.get('location')]).toEqual([
      303,
      `${page}?done=restored`,
    ]);
    expect((await open(page)).html).toContain('Restored from version 1');
  });

  it('takes its forms by whatever name the server is reached, and from no other site', async () => {
    const made = await call('POST', '/workflows', { name: 'Held', eventName: 'joined' });
    const path = `${home}/workflows/${made.body.id}/pause`;
    const { token, cookie } = await open(home);
    const host = `mail.example:${new URL(api.url).port}`;
    const pressFrom = async (origin: string) => {
      // Not fetch, which sets both headers by itself.
      const headers = { cookie, origin, host };
      const sent = request(`${api.url}${path}`, { method: 'POST', headers });
      sent.end(new URLSearchParams({ token }).toString());
      const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage];
      return statusCode;
    };
    expect(await pressFrom('http://evil.example')).toBe(403);
    expect(await pressFrom(`http://${host}`)).toBe(303);
  });

  it('finds contacts by a part of their address', async () => {
    await call('POST', '/contacts', { email: 'ben.one@shop.test' });
    await call('POST', '/contacts', { email: 'ben.two@shop.test', subscribed: false });
    const several = await open(`${home}/contacts?email=BEN.`);
    expect(several.html).toContain('ben.one@shop.test');
    expect(several.html).toContain('ben.two@shop.test');
    expect((await open(`${home}/contacts?email=ben.two`)).html).toContain('<h1>ben.two@shop.test');
    const noneFor = async (text: string) => (await open(`${home}/contacts?email=${text}`)).html;
    expect(await noneFor('nobody')).toContain('has “nobody” in its address.');
    const { html } = await open(`/console/${bobs.id}/contacts?email=`, bob.cookie);
    expect(html).toContain('This project has no contacts yet.');
    // A whole address finds only itself.
    expect(await noneFor('one@shop.test')).toContain('has the address “one@shop.test”.');
  });

  it('shows what a contact has agreed to, and its topics', async () => {
    const topic = { key: 'news', name: 'Big <news>', default: 'unsubscribed' };
    await call('POST', '/topics', topic);
    const { body } = await call('POST', '/contacts', { email: 'lea@shop.test' });
    await call('PUT', `/contacts/${body.id}/topics`, { topics: { news: true } });
    const { html } = await open(`${home}/contacts/${body.id}`);
    expect(html).toMatch(/<td>Big &lt;news&gt;<\/td>\s*<td><span class="state good">subscribed/);
    expect(html).toMatch(/granted<\/span><\/td>\s*<td>news<\/td>\s*<td>api<\/td>/);
  });

  it('shows that a contact has not confirmed yet', async () => {
    const domain = `${randomUUID()}.test`;
    await call('POST', '/domains', { domain });
    await call('PUT', '/consent-policy', { from: `team@${domain}` });
    const asked = { email: 'mia@shop.test', confirm: true };
    const { body } = await call('POST', '/contacts', asked);
    const { html } = await open(`${home}/contacts/${body.id}`);
    expect(html).toMatch(/<h1>mia@shop.test<\/h1>.{0,99}unsubscribed<\/span> <span[^>]*>pending</);
    expect(html).toContain('Opt-in: not confirmed yet');
  });

  it('shows event subscriptions with what waits, and has it held and sent again', async () => {
    const given = { url: 'http://nobody.invalid/', events: ['signed_up'] };
    const { body } = await call('POST', '/event-subscriptions', given);
    api.log.mustNotTell(body.secret);
    const list = await open(`${home}/subscriptions`);
    expect(list.html).toContain(`<a href="${home}/subscriptions/${body.id}">${given.url}</a>`);
    const path = `${home}/subscriptions/${body.id}`;
    const { html, token, cookie } = await open(path);
    expect(html).toContain('Resend failed events of the last 24 hours');
    expect(html).not.toContain('whsec_');
    const locations = [];
    for (const act of ['pause', 'replay', 'resume']) {
      locations.push((await press(`${path}/${act}`, { token }, cookie)).headers.get('location'));
    }
    expect(locations).toEqual([
      `${path}?done=paused`,
      `${path}?done=replaying`,
      `${path}?done=resumed`,
    ]);
    expect((await open(`${path}?status=failed`)).html).toContain('No deliveries.');
    expect((await open(`${path}?status=nonsense`)).status).toBe(422);
  });

  it('shows a mail that waits, until when and why, and what it went through', async () => {
    await call('POST', '/domains', { domain: 'held.test' });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await call('POST', '/v1/send', {
      to: 'kai@shop.test',
      from: 'team@held.test',
      subject: 'For <later>',
      body: '<p>Hi</p>',
      scheduledFor: until,
    });
    const { contact, email } = sent.body.data.emails[0];
    const timeline = await call('GET', `/contacts/${contact.id}/timeline?types=email`);
    expect(timeline.body.data[0].detail.hold).toEqual({ reason: 'schedule', until });
    const person = await open(`${home}/contacts/${contact.id}`);
    expect(person.html).toContain(`<a href="${home}/emails/${email}">For &lt;later&gt;</a>`);
    expect(person.html).toContain(`waits for its scheduled time.</span>`);
    expect(person.html).toContain(`Until <time datetime="${until}"`);
    const { status, html } = await open(`${home}/emails/${email}`);
    expect([status, html.includes('<h1>For &lt;later&gt;</h1>')]).toEqual([200, true]);
    expect(html).toContain('The message waits for its scheduled time.');
    expect(html).toContain(`until <time datetime="${until}"`);
    expect(html).toContain('scheduled');
    expect((await open(`${home}/emails/${contact.id}`)).status).toBe(404);
  });

  it('shows in its frame that there is no such page', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    const paths = ['/nothing', '/campaigns/no/such/page', `/campaigns/${id}`, '/%F0%9F%92%8C'];
    for (const path of paths) {
      const { status, headers, html } = await open(`${home}${path}`);
      expect([path, status, headers.get('content-type')]).toEqual([
        path,
        404,
        'text/html; charset=utf-8',
      ]);
      expect(html).toContain(`<a href="${home}/workflows"`);
      expect(html).toMatch(/<h1>There is no such (page|campaign: [0-9a-f-]{36})\.<\/h1>/);
    }
    const stranger = await open(`${home}/nothing`, 'a=b');
    expect([stranger.status, stranger.html.includes('<h1>Log in</h1>')]).toEqual([401, true]);
    for (const path of [`/console/${id}/nothing`, '/console/nothing/', '/console/no/such']) {
      const { status, headers } = await open(path);
      expect([path, status >= 400, headers.get('content-type')]).toEqual([
        path,
        true,
        'text/html; charset=utf-8',
      ]);
    }
    const wrong = await open(`${home}/campaigns/${id}/pause`);
    expect([wrong.status, wrong.headers.get('content-type')]).toEqual([
      405,
      'text/html; charset=utf-8',
    ]);
  });

  it('needs a token for each of its forms', async () => {
    const { cookie } = await open(home);
    const id = '00000000-0000-4000-8000-000000000000';
    const forms = consolePages.filter(({ method }) => method === 'POST');
    expect(forms.length).toBeGreaterThan(8);
    for (const { path } of forms) {
      const filled = path.replace('{projectId}', project.id).replaceAll(/\{\w+\}/g, id);
      expect([path, (await press(filled, {}, cookie)).status]).toEqual([path, 403]);
    }
  });

  it('changes nothing of another project by any of its forms', async () => {
    const make = async (path: string, body: object) => {
      const answer = await api.request('POST', path, { key: bobs.secretKey, body });
      expect([path, answer.body.error]).toEqual([path, undefined]);
      return answer.body.id as string;
    };
    const ids: Record<string, string> = {
      workflows: await make('/workflows', { name: 'W', eventName: 'e' }),
      contacts: await make('/contacts', { email: 'carol@shop.test' }),
      subscriptions: await make('/event-subscriptions', {
        url: 'https://shop.example',
        events: ['*'],
      }),
      campaigns: await insertTestCampaign(api.db, bobs.id),
      keys: await make('/api-keys', { name: 'K', scopes: ['*'] }),
      ramps: await make('/ramps', { domain: 'bob.example', startPerDay: 5, days: 3 }),
    };
    const { token, cookie } = await open(home);
    const given = { token, version: '1', to: '1' };
    for (const { path } of consolePages.filter(({ method }) => method === 'POST')) {
      const [, noun = ''] = /\{projectId\}\/(\w+)\/\{id\}/.exec(path) ?? [];
      if (noun === '') continue;
      const filled = path
        .replace('{projectId}', project.id)
        .replace('{id}', ids[noun] ?? noun)
        .replaceAll(/\{\w+\}/g, randomUUID());
      const { status, body } = await press(filled, given, cookie);
      expect([path, status, /<h1>[^<]*/.exec(inOne(body))?.[0]]).toEqual([
        path,
        404,
        expect.stringContaining('There is no such'),
      ]);
    }
  });

  it('says only what it knows to say', async () => {
    const { html } = await open(`${home}?done=Your+account+is+closed`);
    expect(html).not.toContain('closed');
    expect((await open(`${home}?done=constructor`)).status).toBe(200);
  });

  it('shows what a customer wrote as text', async () => {
    const name = '<script>alert(1)</script>';
    const { body } = await call('POST', '/contacts', {
      email: 'eve@shop.test',
      data: { name, [`<b>${name}`]: 1 },
    });
    const { html } = await open(`${home}/contacts?email=eve@shop.test`);
    expect(html).toContain('&lt;script&gt;alert(1)');
    expect(html).not.toContain('<script');
    expect((await open(`${home}/contacts/${body.id}`)).html).not.toContain('<script');
  });

  it('allows its pages nothing but their own style and forms', async () => {
    const { headers } = await open(home);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('shows errors of the API as a page', async () => {
    const { status, html } = await open(`${home}/workflows/00000000-0000-4000-8000-000000000000`);
    expect([status, html.includes('WORKFLOW_NOT_FOUND')]).toEqual([404, true]);
    expect((await open(`${home}/workflows/x`)).status).toBe(422);
  });

  it('ends the session of the page, and no other', async () => {
    const { cookie: session, email } = await api.signUp();
    await api.createProject(session);
    const again = await api.request('POST', '/auth/login', { body: { email, password } });
    const other = again.headers.get('set-cookie')?.split(';')[0] ?? '';
    const { token, cookie } = await open('/console', session);
    const { status, headers } = await press('/console/log-out', { token }, cookie);
    expect([status, headers.get('location')]).toEqual([303, '/console']);
    expect((await open('/console', session)).status).toBe(401);
    expect((await open('/console', other)).status).toBe(200);
  });

  it('is not there where it is switched off', async () => {
    const without = await useApi({ CONSOLE: 'false' });
    for (const path of ['/console', home]) {
      const { status, body } = await without.request('GET', path);
      expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    }
  });
});
