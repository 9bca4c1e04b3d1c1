import type { ReactNode } from 'react';
import type { Domain } from '../../api/api.ts';
import { State, Time } from '../../design/parts.tsx';
import { recordStates, signers } from '../../words/settings/domains.ts';
import { fullDay } from '../../words/times.ts';

/** The signer of a domain's mail, the hosts of its bounces and links, and its incoming mail. */
export function DomainFacts({ domain }: { domain: Domain }) {
  const facts = factsOf(domain);
  if (facts.length === 0) return null;
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function factsOf({ signing, ed25519, inbound, dkim, returnPath, tracking }: Domain) {
  const facts: [string, ReactNode][] = [];
  if (signing) {
    facts.push(['Signed by', ed25519 ? `${signers[signing]}, with two keys` : signers[signing]]);
  }
  if (dkim) {
    const { selector, activeSince, next, previous } = dkim;
    facts.push([
      'Key',
      <>
        <code>{selector}</code>{' '}
        {activeSince ? (
          <>
            signs since <Time at={activeSince} />
          </>
        ) : (
          'signs as soon as DNS shows it'
        )}
      </>,
    ]);
    if (next) {
      facts.push([
        'Next key',
        <>
          <code>{next.selector}</code> signs as soon as DNS shows it
        </>,
      ]);
    }
    if (previous) {
      facts.push([
        'Last key',
        <>
          <code>{previous.selector}</code> must stay in DNS until {fullDay(previous.removeAfter)}
        </>,
      ]);
    }
  }
  if (returnPath) facts.push(['Bounces go to', returnPath]);
  if (inbound) facts.push(['Mail to it', 'is taken, each as an event']);
  if (tracking) {
    const { text, tone } = recordStates[tracking.status];
    facts.push([
      'Links and opens on',
      <>
        {tracking.host} <State tone={tone}>{text}</State>
      </>,
    ]);
  }
  return facts;
}
