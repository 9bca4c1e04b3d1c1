import { describe, expect, it } from 'vitest';
import {
  fitsHost,
  knownAddress,
  namedSecrets,
  normaliseHost,
} from '../../../domain/secrets/hosts.ts';

describe('a host of a secret', () => {
  it.each([
    ['API.CRM.example', 'api.crm.example'],
    [' crm.example. ', 'crm.example'],
    ['crm.example:8443', 'crm.example:8443'],
    ['crm.example:443', 'crm.example:443'],
    ['*.CRM.example', '*.crm.example'],
    ['*.crm.example:80', '*.crm.example:80'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost:3000', 'localhost:3000'],
    ['127.1', '127.0.0.1'],
    ['[::1]:8080', '[::1]:8080'],
    ['[::0:1]', '[::1]'],
  ])('%s is kept as %s', (text, host) => {
    expect(normaliseHost(text)).toBe(host);
    expect(normaliseHost(host)).toBe(host);
  });

  it.each([
    '',
    '*',
    '*.',
    'a.*.example',
    '*.127.0.0.1',
    '*.[::1]',
    'crm.example:0',
    'crm.example:65536',
    'crm.example:',
    'https://crm.example',
    'crm.example/path',
    'a@crm.example',
    'crm.example?x',
    'crm.example, b.example',
    'crm..example example',
    '[::1',
    '1.2.3.999',
    '%2a.example',
  ])('is not %j', (text) => {
    expect(normaliseHost(text)).toBeNull();
  });

  it.each([
    ['crm.example', 'https://crm.example/x', true],
    ['crm.example', 'http://CRM.example.:8080/', true],
    ['crm.example', 'https://a.crm.example/', false],
    ['crm.example', 'https://crm.example.evil.test/', false],
    ['crm.example', 'https://crm.example@evil.test/', false],
    ['*.crm.example', 'https://a.b.crm.example/', true],
    ['*.crm.example', 'https://crm.example/', false],
    ['*.crm.example', 'https://evilcrm.example/', false],
    ['crm.example:443', 'https://crm.example/', true],
    ['crm.example:443', 'http://crm.example/', false],
    ['crm.example:80', 'http://crm.example/', true],
    ['127.0.0.1:81', 'http://2130706433:81/', true],
    ['127.0.0.1:81', 'http://127.0.0.1:82/', false],
  ])('%s fits %s: %s', (host, url, isFit) => {
    expect(fitsHost([normaliseHost(host)!], new URL(url))).toBe(isFit);
  });
});

describe('the address of a template', () => {
  it.each([
    ['https://crm.example/hook', 'crm.example'],
    [' https://crm.example/{{id}}', 'crm.example'],
    ['https://crm.example?x={% if a %}b{% endif %}', 'crm.example'],
    ['https://crm.example:81#{{x}}', 'crm.example:81'],
    ['https:\\\\crm.example\\{{x}}', 'crm.example'],
    ['https://a@crm.example/{{x}}', 'crm.example'],
    ['https://crm.example{{x}}', null],
    ['https://crm.example@{{x}}/', null],
    ['https://crm.example:{{port}}/', null],
    ['https://{{secret.HOST}}/', null],
    ['{{url}}', null],
    ['https{{s}}://crm.example/', null],
    ['https:/{{x}}', null],
    ['nothing', null],
  ])('%j has the host %j', (template, host) => {
    expect(knownAddress(template)?.host ?? null).toBe(host);
  });
});

it('secrets are found in address, headers and body, also in keys', () => {
  const config = {
    url: 'https://x.example/{{secret.A}}',
    headers: { X: 'Bearer {{ secret.B }}' },
    body: { deep: [{ '{{secret.C}}': '{{secret.A}}' }], not: 'secret.D {{data.secret.E}}' },
  };
  expect(namedSecrets(config)).toEqual(['A', 'B', 'C']);
});
