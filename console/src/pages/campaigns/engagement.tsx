import { Card, Figures } from '../../design/parts.tsx';
import { percent } from '../../words/numbers.ts';
import type { Stats } from './stats.ts';

/** Opens and clicks by people and by machines. */
export function Engagement({ stats }: { stats: Stats }) {
  return (
    <Card label="People and machines">
      <Figures
        figures={[
          {
            name: 'Opened by people',
            value: stats.humanOpenedCount,
            note: percent(stats.humanOpenRate),
          },
          { name: 'Opened by machines alone', value: stats.machineOpenedCount },
          {
            name: 'Clicked by people',
            value: stats.humanClickedCount,
            note: percent(stats.humanClickRate),
          },
          { name: 'Clicked by machines alone', value: stats.machineClickedCount },
        ]}
      />
    </Card>
  );
}
