import type { Everpost } from '../../../../client/everpost.ts';
import { useRead } from '../../api/queries.ts';
import { Card, Loaded } from '../../design/parts.tsx';
import { type Usage, Users } from '../../editing/users.tsx';
import { useProject } from '../../shell/project.ts';

/**
 * Maximum numbers of campaigns and workflows that are searched for the segment, the last changed
 * first. The numbers are small, so that the page stays fast.
 */
const campaignsMax = 100;
const workflowsMax = 20;

const newest = { page: 1, sort: 'updatedAt', dir: 'desc' } as const;

/**
 * Reads the objects that use a segment. An object uses the segment if it contains the id of the
 * segment, except a campaign that has ended.
 */
async function readUsage(api: Everpost, id: string): Promise<Usage & { isAll: boolean }> {
  const isUser = (record: { id: string }) =>
    record.id !== id && JSON.stringify(record).includes(id);
  const [campaigns, segments, workflows] = await Promise.all([
    api.get('/campaigns', { query: { ...newest, pageSize: campaignsMax } }),
    api.get('/segments'),
    api.get('/workflows', { query: { ...newest, pageSize: workflowsMax } }),
  ]);
  const graphs = await Promise.all(
    workflows.data.map((workflow) => api.get('/workflows/{id}', { path: { id: workflow.id } })),
  );
  return {
    usedInCampaigns: campaigns.data.filter(
      (campaign) => !['SENT', 'CANCELLED'].includes(campaign.status) && isUser(campaign),
    ),
    usedInSegments: segments.filter(isUser),
    usedInWorkflows: graphs.filter(isUser),
    isAll: campaigns.total <= campaignsMax && workflows.total <= workflowsMax,
  };
}

/** The campaigns, segments and workflows that use a segment. */
export function UsedBy({ id }: { id: string }) {
  const { api, project } = useProject();
  const usage = useRead([project.id, 'segments', 'usage', id], () => readUsage(api, id));
  return (
    <Card label="Used by">
      <Loaded query={usage} lines={1}>
        {(use) => (
          <>
            <Users usage={use} />
            {!use.isAll && (
              <p className="second small">
                {`The last ${campaignsMax} campaigns and ${workflowsMax} workflows were looked at. Delete asks all.`}
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}
