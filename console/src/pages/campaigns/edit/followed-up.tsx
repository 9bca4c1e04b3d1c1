import { Link } from '@tanstack/react-router';
import type { Campaign } from '../../../api/api.ts';
import { useProject } from '../../../shell/project.ts';
import { followUpRecipients } from '../../../words/campaigns.ts';
import { counted } from '../../../words/numbers.ts';
import { fullTime } from '../../../words/times.ts';

/**
 * The recipients of a follow-up, who are chosen by their results in another campaign at a fixed
 * time.
 */
export function FollowedUp({ campaign: { followUp, totalRecipients } }: { campaign: Campaign }) {
  const { path } = useProject();
  if (!followUp) return null;
  const { campaignId, outcome, ignoreMachines, asOf } = followUp;
  return (
    <p>
      It follows <Link to={path(`campaigns/${campaignId}`)}>another campaign</Link>:{' '}
      {counted(totalRecipients, 'recipient')} of it {followUpRecipients[outcome]}, as of{' '}
      {fullTime(asOf)}. {!ignoreMachines && 'Opens and clicks by machines count.'}
    </p>
  );
}
