import { Button } from '../../design/button.tsx';
import { Card } from '../../design/parts.tsx';
import { useAddress } from '../../shell/address.ts';
import { count, counted, percent } from '../../words/numbers.ts';
import { textOfReason } from '../../words/reasons.ts';
import type { Stats } from './stats.ts';

/**
 * The number of recipients who did not get the mail, by reason. A click on a reason shows the
 * recipients with this reason in the table.
 */
export function NotReached({ stats }: { stats: Stats }) {
  const [{ reason: chosen }, set] = useAddress({ reason: '', result: '' });
  const all = Object.entries({ ...stats.reasons, ...stats.leftOut }).filter(([, n]) => n > 0);
  const total = all.reduce((sum, [, n]) => sum + n, 0);
  return (
    <Card label="Not reached">
      <p>
        {total === 0
          ? 'Everybody was sent it.'
          : `${counted(total, 'contact')} did not get it, or not yet.`}{' '}
        It was delivered to {percent(stats.reachRate)} of its recipients.
      </p>
      <ul className="reasons">
        {all
          .toSorted(([, a], [, b]) => b - a)
          .map(([code, n]) => (
            <li key={code}>
              <Button
                isSmall
                title={code}
                aria-pressed={chosen === code}
                onClick={() => set({ reason: chosen === code ? '' : code, result: '' })}
              >
                {textOfReason(code).replace(/\.$/, '')}: {count(n)}
              </Button>{' '}
              <code className="second">{code}</code>
            </li>
          ))}
      </ul>
    </Card>
  );
}
