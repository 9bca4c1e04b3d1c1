import type { Campaign, Condition, CreateCampaignRequest } from '../../../api/api.ts';
import { firstBody } from '../../../mail/first-body.ts';
import { goalRequest, type GoalValues, goalValues } from '../../../goals/goal.ts';
import { experimentRequest, type ExperimentValues, experimentValues } from './experiment-form.ts';
import { utmRequest, type UtmValues, utmValues } from './utm-form.ts';

/** The values of the form of a campaign. An empty text is no value. */
export interface CampaignValues {
  name: string;
  description: string;
  subject: string;
  from: string;
  fromName: string;
  replyTo: string;
  body: string;
  messageType: Campaign['messageType'];
  topicId: string;
  audienceType: Campaign['audienceType'];
  segmentId: string;
  /** Id of the segment whose members do not get the campaign. */
  withoutSegmentId: string;
  audienceCondition: Condition | null;
  maxPerMinute: string;
  time: 'now' | 'at' | 'local';
  /** Date and time without a zone, in the format of the input field. */
  at: string;
  late: 'send' | 'skip';
  /** null: all recipients get the same mail. */
  experiment: ExperimentValues | null;
  /** null: there is no goal. */
  goal: GoalValues | null;
  utm: UtmValues;
}

const memberOf = (id: string) => ({ field: `segment.${id}`, operator: 'memberOfSegment' }) as const;
const notMemberOf = (id: string) =>
  ({ field: `segment.${id}`, operator: 'notMemberOfSegment' }) as const;

type Audience = Pick<
  CampaignValues,
  'audienceType' | 'segmentId' | 'withoutSegmentId' | 'audienceCondition'
>;

/** Returns the audience for the API. If a segment is left out, the audience becomes a condition. */
export function audienceRequest(values: Audience) {
  const { audienceType, segmentId, withoutSegmentId, audienceCondition } = values;
  if (audienceType === 'FOLLOW_UP') return {};
  if (withoutSegmentId === '') {
    return {
      audienceType,
      segmentId: audienceType === 'SEGMENT' ? segmentId || null : null,
      audienceCondition: audienceType === 'FILTERED' ? audienceCondition : null,
    };
  }
  const isSegment = audienceType === 'SEGMENT' && segmentId !== '';
  const conditions = audienceType === 'FILTERED' ? audienceCondition : null;
  const filters = [notMemberOf(withoutSegmentId), ...(isSegment ? [memberOf(segmentId)] : [])];
  const groups = [{ filters, ...(conditions && { conditions }) }];
  return {
    audienceType: 'FILTERED' as const,
    segmentId: null,
    audienceCondition: { logic: 'AND' as const, groups },
  };
}

/**
 * Returns the values of the form for the audience of a campaign: the reverse of `audienceRequest`.
 */
function audienceOf(campaign: Campaign): Audience {
  const { audienceType, segmentId, audienceCondition } = campaign;
  const plain = {
    audienceType,
    segmentId: segmentId ?? '',
    withoutSegmentId: '',
    audienceCondition,
  };
  const group = audienceCondition?.groups[0];
  const [without, member, ...more] = group?.filters ?? [];
  const isOwn =
    audienceCondition?.logic === 'AND' &&
    audienceCondition.groups.length === 1 &&
    without?.operator === 'notMemberOfSegment' &&
    more.length === 0;
  if (!isOwn) return plain;
  const withoutSegmentId = without.field.replace('segment.', '');
  const nested = (group?.conditions ?? null) as Condition | null;
  if (!member) {
    const type = nested ? 'FILTERED' : 'ALL';
    return { audienceType: type, segmentId: '', withoutSegmentId, audienceCondition: nested };
  }
  if (nested || member.operator !== 'memberOfSegment') return plain;
  const id = member.field.replace('segment.', '');
  return { audienceType: 'SEGMENT', segmentId: id, withoutSegmentId, audienceCondition: null };
}

/** Returns a time in the format of a `datetime-local` field, in the browser's zone. */
function fieldTime(at: string): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const noAudience: Audience = {
  audienceType: 'ALL',
  segmentId: '',
  withoutSegmentId: '',
  audienceCondition: null,
};

export function valuesOf(campaign: Campaign | null): CampaignValues {
  const localTime = campaign?.localTime ?? null;
  const scheduledFor = campaign?.scheduledFor ?? null;
  return {
    name: campaign?.name ?? '',
    description: campaign?.description ?? '',
    subject: campaign?.subject ?? '',
    from: campaign?.from ?? '',
    fromName: campaign?.fromName ?? '',
    replyTo: campaign?.replyTo ?? '',
    body: campaign?.body ?? firstBody,
    messageType: campaign?.messageType ?? 'MARKETING',
    topicId: campaign?.topicId ?? '',
    ...(campaign ? audienceOf(campaign) : noAudience),
    maxPerMinute: campaign?.maxPerMinute ? String(campaign.maxPerMinute) : '',
    time: localTime ? 'local' : scheduledFor ? 'at' : 'now',
    at: localTime ? localTime.slice(0, 16) : scheduledFor ? fieldTime(scheduledFor) : '',
    late: campaign?.late ?? 'send',
    experiment: experimentValues(campaign?.experiment),
    goal: goalValues(campaign?.goal),
    utm: utmValues(campaign?.utm),
  };
}

export function requestOf(values: CampaignValues): CreateCampaignRequest {
  const { name, subject, from, fromName, replyTo, body, messageType } = values;
  return {
    name,
    description: values.description || null,
    subject,
    body,
    messageType,
    ...(from && { from }),
    fromName: fromName || null,
    replyTo: replyTo || null,
    topicId: messageType === 'MARKETING' ? values.topicId || null : null,
    ...audienceRequest(values),
    maxPerMinute: values.maxPerMinute === '' ? null : Number(values.maxPerMinute),
    experiment: experimentRequest(values.experiment),
    goal: goalRequest(values.goal),
    utm: utmRequest(values.utm),
  };
}

/** Returns the part of a send request that sets the time. */
export function sendRequestOf({ time, at, late }: CampaignValues) {
  if (time === 'now') return {};
  if (time === 'local') return { localTime: at, late };
  return { scheduledFor: at === '' ? '' : new Date(at).toISOString() };
}
