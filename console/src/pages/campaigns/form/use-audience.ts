import { useRead } from '../../../api/queries.ts';
import { completePart } from '../../../filter/tree.ts';
import { isComplete } from '../../../filter/operators.ts';
import { useProject } from '../../../shell/project.ts';
import { audienceRequest, type CampaignValues } from './campaign-form.ts';

/** Counts who would get the campaign now, and who is left out. */
export function useAudience(values: CampaignValues) {
  const { api, project } = useProject();
  const { audienceCondition, messageType, topicId, audienceType } = values;
  const complete = audienceCondition && completePart(audienceCondition, isComplete);
  const body = {
    ...audienceRequest({ ...values, audienceCondition: complete }),
    messageType,
    topicId: messageType === 'MARKETING' ? topicId || null : null,
  };
  const isChosen =
    audienceType === 'ALL' ||
    (audienceType === 'SEGMENT' && values.segmentId !== '') ||
    (audienceType === 'FILTERED' && complete !== null);
  return useRead(
    [project.id, 'campaigns', 'audience', body],
    () => api.post('/campaigns/audience', { body }),
    { isEnabled: isChosen },
  );
}
