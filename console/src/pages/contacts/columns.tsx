import { useState } from 'react';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Menu } from '../../design/menu.tsx';
import { useProject } from '../../shell/project.ts';

const shownFirst = 3;

/**
 * The data fields that the table shows, by default the most common ones. The choice is kept in the
 * browser.
 */
export function useColumns() {
  const { api, project } = useProject();
  const key = `everpost-columns-${project.id}`;
  const [kept, setKept] = useState(() => localStorage.getItem(key)?.split('\n'));
  const { data } = useRead([project.id, 'contacts', 'fields'], () => api.get('/contacts/fields'));
  const fields = (data?.fields ?? []).filter(({ field }) => field.startsWith('data.'));
  const common = fields.toSorted((a, b) => b.coverage - a.coverage).slice(0, shownFirst);
  const all = fields.map(({ field }) => field);
  const chosen = kept ?? common.map(({ field }) => field);
  return {
    all,
    shown: all.filter((field) => chosen.includes(field)),
    toggle(field: string) {
      const next = chosen.includes(field)
        ? chosen.filter((one) => one !== field)
        : [...chosen, field];
      localStorage.setItem(key, next.join('\n'));
      setKept(next);
    },
  };
}

export function ColumnsMenu({ columns }: { columns: ReturnType<typeof useColumns> }) {
  const { all, shown, toggle } = columns;
  return (
    <Menu
      button={
        <Button disabledBecause={all.length === 0 && 'No contact has data yet.'}>Columns</Button>
      }
      items={all.map((field) => ({
        kind: 'check',
        text: field.slice('data.'.length),
        isChosen: shown.includes(field),
        onChoose: () => toggle(field),
      }))}
    />
  );
}
