import { describe, expect, it } from 'vitest';
import { builtInRules } from '../../../domain/engagement/machine-rules.ts';
import { type Engagement, judgeMail } from '../../../domain/engagement/verdict.ts';
import { createClients } from '../../../providers/engagement/clients.ts';

/**
 * Requests to one mail as programs and people make them, with the verdicts. Each line is
 * `<seconds after the delivery> <open|click|head> [link] <client> -> <verdict> [rule]`.
 */
const bursts: Readonly<Record<string, { links: number; requests: string[] }>> = {
  'a gateway that checks each link by HEAD, then fetches it like a browser': {
    links: 3,
    requests: [
      '4.0 head 0 gateway -> none',
      '4.3 click 0 gateway -> machine head_request',
      '4.5 head 1 gateway -> none',
      '4.9 click 1 gateway -> machine head_request',
      '70 click 2 gateway -> human',
    ],
  },
  'a sandbox that follows all links from changing addresses': {
    links: 3,
    requests: [
      '30.0 click 0 sandbox1 -> machine all_links',
      '30.4 click 2 sandbox2 -> machine all_links',
      '33.9 click 1 sandbox3 -> machine all_links',
      '600 open office -> human',
      '610 click 1 office -> human',
    ],
  },
  'Apple Mail, which loads images of mail that is not read, and its reader': {
    links: 2,
    requests: [
      '300 open apple -> machine prefetch_proxy',
      '4000 open apple -> machine prefetch_proxy',
      '4010 click 0 phone -> human',
    ],
  },
  'Gmail, whose proxy hides the reader': {
    links: 2,
    requests: [
      '3 open gmail -> machine prefetch_proxy',
      '900 open gmail -> unknown image_proxy',
      '905 click 1 office -> human',
    ],
  },
  'a scanner in a listed network, with the user agent of a browser': {
    links: 5,
    requests: [
      '20 open proofpoint -> machine known_network',
      '21 click 3 proofpoint -> machine known_network',
    ],
  },
  'a chat that makes a preview of a link that a reader has pasted': {
    links: 2,
    requests: ['50 click 0 office -> human', '58 click 0 slack -> machine known_agent'],
  },
  'a script, and a program that says nothing of itself': {
    links: 2,
    requests: ['30 click 0 script -> machine known_agent', '90 open silent -> unknown no_agent'],
  },
  'a reader who opens at once and clicks after some seconds': {
    links: 3,
    requests: [
      '1 open office -> human',
      '1.5 click 0 office -> machine too_fast',
      '9 click 0 office -> human',
      '10 click 1 office -> human',
      '10.2 click 1 office -> human',
    ],
  },
  'a reader of a mail with one link, who clicks it twice': {
    links: 1,
    requests: ['12 click 0 phone -> human', '12.4 click 0 phone -> human'],
  },
  'a reader who follows two of three links in a second, and the third later': {
    links: 3,
    requests: [
      '40 click 0 office -> human',
      '40.8 click 1 office -> human',
      '45.9 click 2 office -> human',
    ],
  },
  'a colleague behind the same address as a scanner, with another browser': {
    links: 2,
    requests: ['5 head 0 gateway -> none', '8 click 0 office -> human'],
  },
};

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';
const clients: Readonly<Record<string, { address: string; agent: string }>> = {
  gateway: { address: '203.0.113.9', agent: chrome },
  sandbox1: { address: '198.51.100.1', agent: chrome },
  sandbox2: { address: '198.51.100.2', agent: chrome },
  sandbox3: { address: '198.51.100.3', agent: chrome },
  apple: { address: '192.0.2.1', agent: 'Mozilla/5.0' },
  gmail: {
    address: '192.0.2.2',
    agent:
      'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  },
  proofpoint: { address: '148.163.130.7', agent: chrome },
  slack: {
    address: '192.0.2.3',
    agent: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  },
  script: { address: '192.0.2.4', agent: 'python-requests/2.32.3' },
  silent: { address: '192.0.2.5', agent: '' },
  office: { address: '203.0.113.9', agent: firefox },
  phone: {
    address: '203.0.113.77',
    agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
  },
};

const describer = createClients(builtInRules, (text) => text);
const deliveredAt = new Date('2026-11-20T08:00:00Z');

function read(line: string, linkCount: number): { request: Engagement; expected: string } {
  const [given, expected = ''] = line.split(' -> ');
  const [seconds, kind, ...rest] = given!.split(' ') as [string, Engagement['kind'], ...string[]];
  const name = rest.at(-1)!;
  const facts = describer.describe(clients[name]!, kind);
  const linkId = rest.length > 1 ? `link ${rest[0]}` : null;
  const at = new Date(deliveredAt.getTime() + Number(seconds) * 1000);
  return { request: { kind, at, linkId, linkCount, ...facts }, expected };
}

describe('the verdicts on', () => {
  it.each(Object.entries(bursts))('%s', (_, { links, requests }) => {
    const lines = requests.map((line) => read(line, links));
    const judged = judgeMail(
      lines.map(({ request }) => request),
      deliveredAt,
    );
    const said = judged.map((one) =>
      one ? [one.verdict, one.rule].filter(Boolean).join(' ') : 'none',
    );
    expect(said).toEqual(lines.map(({ expected }) => expected));
  });
});
