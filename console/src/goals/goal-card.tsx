import type { GoalStats } from '../api/api.ts';
import { Card, Figures } from '../design/parts.tsx';
import { percent } from '../words/numbers.ts';

/** The goal of mail, and how much mail has reached it. */
export function GoalCard({ goal }: { goal: GoalStats }) {
  return (
    <Card label="Goal">
      <p>
        Event <code>{goal.eventName}</code>
      </p>
      <Figures
        figures={[
          {
            name: 'Mails with the event',
            value: goal.converted,
            note: percent(goal.conversionRate),
          },
          { name: 'Events', value: goal.conversions },
          { name: 'Value', value: goal.value },
        ]}
      />
    </Card>
  );
}
