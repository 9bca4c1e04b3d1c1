import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { useApi } from '../../support/api.ts';
import { listen, use } from '../../support/use.ts';

const api = await useApi({ API_URL: 'https://mail.shop.example' });

const paths = ['/local/mailbox', `/local/mailbox/${randomUUID()}`];

/**
 * Returns status and code of both endpoints, with exactly these headers (`fetch` would set its
 * own Host).
 */
async function ask(
  server: { url: string },
  headers: Record<string, string> = {},
): Promise<string[]> {
  const answers = paths.map(async (path) => {
    const [response] = (await once(get(server.url + path, { headers }), 'response')) as [
      IncomingMessage,
    ];
    const body = Buffer.concat(await response.toArray()).toString();
    const { error } = JSON.parse(body) as { error?: { code: string } };
    return `${response.statusCode} ${error?.code ?? ''}`.trim();
  });
  return Promise.all(answers);
}
const shown = ['200', '404 EMAIL_NOT_FOUND'];
const hidden = ['404 ROUTE_NOT_FOUND', '404 ROUTE_NOT_FOUND'];

const askOf = async (settings: Record<string, string>, headers?: Record<string, string>) =>
  ask(await useApi(settings), headers);

const production = {
  NODE_ENV: 'production',
  DASHBOARD_URL: 'https://app.shop.dev',
  JWT_SECRET: randomBytes(32).toString('base64'),
};

describe('the local mailbox', () => {
  it.each([
    { SMTP_HOST: '127.0.0.1' },
    { AWS_SES_REGION: 'eu-west-1', AWS_SES_ACCESS_KEY_ID: 'a', AWS_SES_SECRET_ACCESS_KEY: 'b' },
    { SMTP_HOST: '127.0.0.1', LOCAL_MAILBOX_PUBLIC: 'true' },
    production,
  ])('is not there with %j', async (settings) => {
    expect(await askOf(settings)).toEqual(hidden);
  });

  it('is there in production where it is asked for', async () => {
    const settings = { ...production, LOCAL_MAILBOX_PUBLIC: 'true' };
    expect(await askOf(settings)).toEqual(shown);
  });

  it.each([
    'localhost',
    'localhost:8080',
    'LOCALHOST:8080',
    '127.0.0.1:8080',
    '[::1]:8080',
    '[::ffff:127.0.0.1]',
    '192.168.1.7:8080',
    'mail.shop.example',
  ])('answers who asks for %s', async (host) => {
    expect(await ask(api, { host })).toEqual(shown);
  });

  // Host names that anyone can point at this machine.
  it.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'shop.example',
    '203.0.113.9:8080',
    '::1',
  ])('does not answer who asks for "%s"', async (host) => {
    expect(await ask(api, { host })).toEqual(hidden);
  });

  it.each([
    { Via: '1.1 proxy' },
    { Forwarded: 'for=127.0.0.1' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { 'X-Forwarded-Host': 'localhost' },
    { 'X-Forwarded-Proto': 'https' },
    { 'X-Real-IP': '127.0.0.1' },
  ])('does not answer what a proxy hands on: %j', async (headers) => {
    expect(await ask(api, headers)).toEqual(hidden);
    // The client address that the proxy reports does not matter.
    expect(await askOf({ TRUST_PROXY: 'true' }, headers)).toEqual(hidden);
  });

  it.each([
    ['127.0.0.1', shown],
    ['::ffff:127.0.0.1', shown],
    ['::1', shown],
    ['192.168.1.7', shown],
    ['fd00::1', shown],
    ['203.0.113.9', hidden],
    ['::ffff:8.8.8.8', hidden],
    ['2001:db8::1', hidden],
  ])('judges a client by its address: %s', async (remoteAddress, expected) => {
    const app = createApp(api.services).callback();
    // The test sets the address of the client, because no other machine is available.
    const server = createServer((request, response) => {
      Object.defineProperty(request.socket, 'remoteAddress', { value: remoteAddress });
      void app(request, response);
    });
    expect(await ask(use(await listen(server)))).toEqual(expected);
  });

  it('answers everybody with LOCAL_MAILBOX_PUBLIC', async () => {
    const settings = { TRUST_PROXY: 'true', LOCAL_MAILBOX_PUBLIC: 'true' };
    const headers = { host: 'mail.shop.example', 'X-Forwarded-For': '203.0.113.9' };
    expect(await askOf(settings, headers)).toEqual(shown);
  });
});
