import { Fragment, type ReactNode } from 'react';
import { useLive } from '../../api/queries.ts';
import { Card, Loaded, State, Time } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { limits } from '../../words/campaigns.ts';
import { count } from '../../words/numbers.ts';
import { textOfReason } from '../../words/reasons.ts';

/** The mail that waits, with the reasons. */
export function DeliveryCard() {
  const { project, api } = useProject();
  const delivery = useLive({
    key: [project.id, 'delivery'],
    read: () => api.get('/delivery'),
  });
  return (
    <Card label="Delivery">
      <Loaded query={delivery} lines={2}>
        {({ due, oldestDueAt, sending, unknown, held, perSecond, limitedBy, workers }) => {
          const facts: [name: string, value: ReactNode, code?: string][] = [
            ['Due', due > 0 && <Due due={due} since={oldestDueAt} />],
            ['Being sent', sending > 0 && count(sending)],
            ['Not known', unknown > 0 && count(unknown)],
            ...Object.entries(held).map(([reason, number]): [string, ReactNode, string] => [
              textOfReason(reason),
              number > 0 && count(number),
              reason,
            ]),
            ['Emails per second', perSecond > 0 && count(perSecond)],
          ];
          const shown = facts.filter(([, value]) => value !== false);
          return (
            <>
              {limitedBy && (
                <p className="actions">
                  <State tone={limitedBy === 'no_worker' ? 'bad' : 'warning'}>Limited</State>
                  <span>
                    {textOfLimit(limitedBy)}. <code className="second">{limitedBy}</code>
                  </span>
                </p>
              )}
              {limitedBy !== 'no_worker' && workers === 0 && (
                <p className="actions">
                  <State tone="bad">Stopped</State>
                  <span>{limits.no_worker}.</span>
                </p>
              )}
              {shown.length === 0 && <p className="second">No mail waits.</p>}
              <dl className="facts">
                {shown.map(([name, value, code]) => (
                  <Fragment key={name}>
                    <dt>
                      {name} {code && <code>{code}</code>}
                    </dt>
                    <dd>{value}</dd>
                  </Fragment>
                ))}
              </dl>
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

type Limit = keyof typeof limits;

const textOfLimit = (limit: Limit): string =>
  limit === 'campaign_rate' ? 'A campaign has a limit of emails per minute' : limits[limit];

function Due({ due, since }: { due: number; since: string | null }) {
  return (
    <>
      {count(due)}
      {since && (
        <span className="second">
          , the oldest since <Time at={since} />
        </span>
      )}
    </>
  );
}
