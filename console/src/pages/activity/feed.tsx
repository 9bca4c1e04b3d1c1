import './activity.css';
import type { ActivityItem } from '../../api/api.ts';
import { Time } from '../../design/parts.tsx';
import { ActivitySentence } from './sentence.tsx';

/** Items of the activity, each in a sentence with its time. */
export function Feed({ label, items }: { label: string; items: readonly ActivityItem[] }) {
  return (
    <ol className="feed" aria-label={label}>
      {items.map((item) => (
        <li key={item.id}>
          <span>
            <ActivitySentence item={item} />
          </span>
          <span className="second small">
            <Time at={item.timestamp} />
          </span>
        </li>
      ))}
    </ol>
  );
}
