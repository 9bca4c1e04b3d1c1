import { counted } from '../../words/numbers.ts';
import { Pager } from '../table.tsx';

/** Number of items on a page of a list. */
export const pageSize = 50;

/** The pager of a list that is read by page. `one` is the noun of its items. */
export function PageOf({
  page,
  total,
  one,
  onPage,
}: {
  page: number;
  total: number;
  one: string;
  onPage: (page: string) => void;
}) {
  const last = Math.max(1, Math.ceil(total / pageSize));
  const part = last > 1 ? `, page ${page} of ${last}` : '';
  return (
    <Pager
      shown={`${counted(total, one)}${part}`}
      onFirst={page > 2 ? () => onPage('') : null}
      onPrevious={page > 1 ? () => onPage(page > 2 ? String(page - 1) : '') : null}
      onNext={page < last ? () => onPage(String(page + 1)) : null}
    />
  );
}
