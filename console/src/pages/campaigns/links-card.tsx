import { useRead } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Time } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useAddress } from '../../shell/address.ts';
import { useProject } from '../../shell/project.ts';
import { count } from '../../words/numbers.ts';

/** The links of a campaign with their clicks. Each link shows the contacts who clicked it. */
export function LinksCard({ campaignId: id }: { campaignId: string }) {
  const { api, project } = useProject();
  const [{ link: shown }, set] = useAddress({ link: '', cursor: '' });
  const { data } = useRead([project.id, 'campaigns', id, 'links'], () =>
    api.get('/campaigns/{id}/links', { path: { id } }),
  );
  if (!data || data.links.length === 0) return null;
  return (
    <Card label="Links">
      <Table
        label="Links"
        rows={data.links}
        keyOf={({ linkId }) => linkId}
        columns={[
          { name: 'Address', cell: ({ url }) => url ?? 'All others' },
          { name: 'Place', cell: ({ positions }) => positions.join(', ') || '–' },
          { name: 'Clicks', isNumber: true, cell: ({ clicks }) => count(clicks) },
          { name: 'By people', isNumber: true, cell: ({ humanClicks }) => count(humanClicks) },
          { name: 'People', isNumber: true, cell: ({ humanEmails }) => count(humanEmails) },
          {
            name: 'By machines',
            isNumber: true,
            cell: ({ machineClicks }) => count(machineClicks),
          },
          { name: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
          {
            name: 'Who',
            hidesName: true,
            cell: ({ linkId, url, clicks }) =>
              clicks > 0 &&
              url !== null && (
                <Button
                  isSmall
                  aria-label={`Who clicked ${url}`}
                  aria-pressed={shown === linkId}
                  onClick={() => set({ link: shown === linkId ? '' : linkId })}
                >
                  Who
                </Button>
              ),
          },
        ]}
      />
    </Card>
  );
}
