import type { z } from 'zod';
import { getDomain, listOwnDomains } from '../../domains/domains.ts';
import { type Html, html } from '../../html/html.ts';
import { ask } from '../ask.ts';
import { type PageContext, projectPage } from '../page.ts';
import { facts, heading, moment, section, state, table } from '../parts.ts';

type Domain = z.output<typeof getDomain.response>;

const showDomains = projectPage({
  id: 'showDomains',
  path: '/domains',
  at: '/domains',
  summary: 'The sender domains of a project',
  async show({ call, path }) {
    const domains = await ask(call, listOwnDomains);
    return {
      title: 'Domains',
      content: html`${heading('Domains')} ${section('All', domainTable(domains, path))}`,
    };
  },
});

function domainTable(domains: readonly Domain[], path: PageContext['path']): Html {
  return table(
    ['Name', 'State', 'Signed by', 'Last check'],
    domains.map(({ id, domain, status, signing, lastCheckedAt }) => [
      html`<a href="${path(`/domains/${id}`)}">${domain}</a>`,
      state(status.toUpperCase()),
      signerWords(signing),
      moment(lastCheckedAt),
    ]),
    'No domains yet. Add one with POST /domains.',
  );
}

function signerWords(signing: Domain['signing']): string {
  return signing === 'own' ? 'Everpost' : 'the mail provider';
}

const showDomain = projectPage({
  id: 'showDomain',
  path: '/domains/{id}',
  at: '/domains',
  summary: 'The DNS records of a sender domain, and their state',
  async show({ call }) {
    const { id = '' } = call.params;
    const domain = await ask(call, getDomain, { params: { id } });
    const { status, signing, dkim, tracking, lastCheckedAt, records } = domain;
    return {
      title: domain.domain,
      content: html`${heading(domain.domain, state(status.toUpperCase()))}
      ${section(
        'State',
        facts([
          ['Last check', moment(lastCheckedAt)],
          ['Signed by', signerWords(signing)],
          ...(tracking ? ([['Links and pixel on', tracking.host]] as const) : []),
          ...(dkim
            ? ([
                ['Key', dkim.selector],
                ['In use since', moment(dkim.activeSince)],
              ] as const)
            : []),
        ]),
      )}
      ${section(
        'Records',
        table(
          ['Purpose', 'Record', 'Needed', 'State', 'Found instead'],
          records.map((record) => [
            record.purpose,
            html`<code>${record.zoneLine}</code>`,
            record.removeAfter
              ? html`until ${moment(record.removeAfter)}`
              : record.needed
                ? 'yes'
                : 'no',
            state(record.status.toUpperCase()),
            record.found.map((text) => html`<code>${text}</code> `),
          ]),
          'No records.',
        ),
      )}`,
    };
  },
});

export const domainPages = [showDomains, showDomain];
