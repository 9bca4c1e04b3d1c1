import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Change } from '../../db/accounts/security-events.ts';
import type { CampaignRow } from '../../db/campaigns/campaigns.ts';
import { columnsFrom } from '../../db/columns.ts';
import {
  audienceTypes,
  campaignActions,
  chosenAudienceTypes,
  type CampaignAudience,
} from '../../domain/campaign/campaign.ts';
import { invalidField, Problem, whenRight, Refusals } from '../../domain/errors.ts';
import type { Condition } from '../../domain/filter/filter.ts';
import { meansTheSame } from '../../domain/filter/forms.ts';
import { limits } from '../../domain/limits.ts';
import { changesBetween } from '../access/changes.ts';
import {
  ConditionInput,
  placedCondition,
  type PlacedCondition,
  refuseTwoMeanings,
} from '../segments/condition-input.ts';
import { etagOf } from '../http/etag.ts';
import {
  Description,
  Email,
  Name,
  senderColumns,
  SenderName,
  SenderText,
  Subject,
  Uuid,
  addFault,
} from '../http/schemas.ts';
import { GoalInput } from '../goals/goal.ts';
import { UtmInput } from '../projects/link-policy.ts';
import { templateText } from '../templates/input.ts';
import { refuseTopic } from '../topics/input.ts';
import { ExperimentInput, refuseLocalTime } from './experiment/input.ts';
import { AudienceType, ChosenAudienceType, MessageType } from './record.ts';

/** Campaigns in requests, and their columns. */

const typeText = 'An audienceType or a messageType, in place of that field';

const fields = {
  name: Name,
  description: Description,
  subject: templateText(Subject),
  body: templateText(z.string().min(1)),
  from: SenderText,
  fromName: SenderName.nullable(),
  replyTo: Email.nullable(),
  templateId: Uuid.nullable(),
  topicId: Uuid.nullable().describe("Only with the type MARKETING; by default the template's"),
  audienceType: AudienceType,
  segmentId: Uuid.nullable().describe('Only with SEGMENT'),
  audienceFilter: ConditionInput.nullable().describe('Only with FILTERED'),
  audienceCondition: ConditionInput.nullable().describe('Instead of audienceFilter'),
  messageType: MessageType,
  maxPerMinute: z
    .int()
    .min(1)
    .max(limits.mailPerMinuteMax)
    .nullable()
    .describe('Maximum number of mails per minute; null: no limit of its own'),
  utm: UtmInput.nullable().describe(
    'UTM parameters of its links, over those of the link policy by key; null for a key removes its parameter',
  ),
  goal: GoalInput.nullable().describe('The event that it is sent for; null removes the goal'),
  experiment: ExperimentInput.nullable().describe(
    'Sends several versions to a test group, and the best one to the rest; null: none',
  ),
  type: z.enum([...audienceTypes, ...MessageType.options]).describe(typeText),
};

const Change = z.object(fields).partial();

const missing = {
  message: 'Is required.',
  params: { code: 'invalid_type', received: 'undefined' },
};

type Given = z.output<typeof Change>;

/**
 * Refuses a `type` that contradicts the other fields. Depending on its value, `type` means
 * `audienceType` or `messageType`.
 */
function refuseContradiction(body: Given, context: z.core.$RefinementCtx): void {
  const { type } = body;
  if (type === undefined) return;
  const field = isAudienceType(type) ? 'audienceType' : 'messageType';
  const named = body[field];
  if (named === undefined || named === type) return;
  const message = `\`type\` is ${type}, but \`${field}\` is ${named}. Send only one of them.`;
  addFault(context, 'custom', message, ['type']);
}

function isAudienceType(type: string): type is z.output<typeof AudienceType> {
  return (audienceTypes as readonly string[]).includes(type);
}

const oneCondition = refuseTwoMeanings('audienceCondition', 'audienceFilter');
const oneType = [refuseContradiction, whenRight('type', 'audienceType', 'messageType')] as const;

export const CampaignChange = Change.superRefine(...oneCondition).superRefine(...oneType);

const audienceFields = ['audienceType', 'type'];

/**
 * Fields that are required in some cases. `in`: the other fields that `isMissing` reads. A missing
 * field is reported only if the fields in `in` are valid.
 */
const required: Partial<
  Record<keyof Given, { in: string[]; isMissing: (body: Given) => boolean }>
> = {
  audienceType: { in: audienceFields, isMissing: (body) => audienceTypeOf(body) === undefined },
  subject: { in: ['templateId'], isMissing: (body) => !body.subject && !body.templateId },
  body: { in: ['templateId'], isMissing: (body) => !body.body && !body.templateId },
  from: { in: ['templateId'], isMissing: (body) => !body.from && !body.templateId },
  segmentId: {
    in: audienceFields,
    isMissing: (body) => audienceTypeOf(body) === 'SEGMENT' && !body.segmentId,
  },
  audienceFilter: {
    in: [...audienceFields, 'audienceCondition'],
    isMissing: (body) => audienceTypeOf(body) === 'FILTERED' && !conditionIn(body),
  },
};

/**
 * Returns a schema that also refuses a body in which one of these fields is missing but required.
 */
function requiring<S extends z.ZodType<Given>>(schema: S, names: readonly (keyof Given)[]): S {
  return names.reduce((sofar, field) => {
    const rule = required[field];
    if (!rule) return sofar;
    const { in: others, isMissing } = rule;
    return sofar.refine((body) => !isMissing(body), {
      path: [field],
      ...missing,
      ...whenRight(field, ...others),
    });
  }, schema);
}

/** The audiences that a request can choose. */
const chosen = {
  audienceType: ChosenAudienceType.optional(),
  type: z
    .enum([...chosenAudienceTypes, ...MessageType.options])
    .optional()
    .describe(typeText),
};

export const NewCampaign = requiring(
  Change.extend({ name: Name, ...chosen })
    .superRefine(...oneCondition)
    .superRefine(...oneType),
  Object.keys(required) as (keyof Given)[],
);

const { segmentId, audienceFilter, audienceCondition, messageType, topicId } = Change.shape;

/** The fields of a campaign that decide which contacts get its mail. */
export const AudienceInput = requiring(
  z
    .object({
      ...chosen,
      segmentId,
      audienceFilter,
      audienceCondition,
      messageType,
      topicId,
    })
    .superRefine(...oneCondition)
    .superRefine(...oneType),
  ['audienceType', 'segmentId', 'audienceFilter'],
);

/** Returns the audience and the kind of mail in these fields. */
export function audienceIn(body: z.output<typeof AudienceInput>) {
  const type = audienceTypeOf(body) ?? 'ALL';
  const audience: CampaignAudience = {
    type,
    segmentId: type === 'SEGMENT' ? (body.segmentId ?? null) : null,
    condition: type === 'FILTERED' ? (conditionIn(body)?.condition ?? null) : null,
    listId: null,
  };
  const kind = { messageClass: messageTypeOf(body) ?? 'MARKETING', topicId: body.topicId ?? null };
  return { audience, kind };
}

export type NewCampaign = z.output<typeof NewCampaign>;

function audienceTypeOf({ audienceType, type }: Given) {
  return audienceType ?? (type !== undefined && isAudienceType(type) ? type : undefined);
}

function messageTypeOf({ messageType, type }: Given) {
  return messageType ?? (type !== undefined && !isAudienceType(type) ? type : undefined);
}

/** Returns the condition in a request, with the field that contains it. null counts as absent. */
export function conditionIn(body: Given): PlacedCondition | null {
  return placedCondition(body, 'audienceCondition', 'audienceFilter');
}

/**
 * Refuses a topic for mail that is not marketing mail.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseGivenTopic(body: Given): void {
  refuseTopic(body.topicId, messageTypeOf(body) ?? 'MARKETING');
}

/** The columns that requests set and that a copy of a campaign takes over, each with its field. */
const givenColumns = {
  name: 'name',
  description: 'description',
  subject: 'subject',
  body: 'body',
  from_email: 'from',
  from_name: 'fromName',
  reply_to: 'replyTo',
  template_id: 'templateId',
  topic_id: 'topicId',
  audience_type: 'audienceType',
  segment_id: 'segmentId',
  audience_condition: 'audienceCondition',
  message_class: 'messageType',
  max_per_minute: 'maxPerMinute',
  utm: 'utm',
  goal: 'goal',
  experiment: 'experiment',
} as const satisfies Partial<Record<keyof CampaignRow, keyof Given>>;

export type CampaignValues = Pick<CampaignRow, keyof typeof givenColumns>;

const columnNames = Object.keys(givenColumns) as (keyof CampaignValues)[];

/** Returns the values of a campaign, without its progress. */
export function givenValues(row: CampaignRow): CampaignValues {
  return Object.fromEntries(columnNames.map((name) => [name, row[name]])) as CampaignValues;
}

export function campaignTag(row: CampaignRow): string {
  return etagOf(givenValues(row));
}

/** Returns the changed fields of an edit, for the security log. */
export function changesOf(before: CampaignRow, { values }: CampaignEdit): Change[] {
  const fieldsOf = (row: CampaignValues) =>
    Object.fromEntries(columnNames.map((name) => [givenColumns[name], row[name]]));
  // The values are not kept, because a condition may contain the address of a contact.
  const secret = ['audienceCondition'];
  return changesBetween(fieldsOf(before), fieldsOf({ ...before, ...values }), { secret });
}

/** Returns the columns for a request's fields, except the condition. */
export function valuesOf(body: Given) {
  const {
    from,
    fromName,
    type: _,
    messageType: _m,
    audienceFilter: _f,
    audienceCondition: _c,
    ...fields
  } = body;
  return columnsFrom({
    ...fields,
    ...senderColumns(from, fromName),
    audienceType: audienceTypeOf(body),
    messageClass: messageTypeOf(body),
  });
}

/** Sets the columns that only other audience types use to null. */
export function withAudience<
  V extends Pick<CampaignValues, 'audience_type' | 'segment_id' | 'audience_condition'>,
>(values: V): V {
  return {
    ...values,
    segment_id: values.audience_type === 'SEGMENT' ? values.segment_id : null,
    audience_condition: values.audience_type === 'FILTERED' ? values.audience_condition : null,
  };
}

export interface CampaignEdit {
  values: Partial<CampaignValues>;
  changesAudience: boolean;
  /** True if the number of recipients may change. */
  changesCount: boolean;
}

/** Columns that may be edited while the campaign is PAUSED. */
const pausedColumns: readonly string[] = [
  'subject',
  'body',
  'from_name',
  'reply_to',
  'max_per_minute',
];

/**
 * Returns the changes in a request. Absent fields keep their values, and a field with an equal
 * value is not changed.
 * @throws Problem VALIDATION_ERROR
 */
export function planEdit(row: CampaignRow, body: Given): CampaignEdit {
  const after = withAudience({
    ...givenValues(row),
    ...valuesOf(body),
    audience_condition: conditionIn(body)?.condition ?? row.audience_condition,
  });
  const values = Object.fromEntries(
    Object.entries(after).filter(([column, value]) => differs(column, value, row)),
  ) as Partial<CampaignValues>;
  const changed = Object.keys(values);
  const changesAudience = changed.some((column) => /^(audience_|segment_id)/.test(column));
  const changesTopic = 'topic_id' in values;
  const refusals = new Refusals();
  refusals.try(() => refuseFollowUp(row, body));
  if (changesAudience) refusals.try(() => requireAudience(after));
  if (changesTopic || 'message_class' in values) {
    refusals.try(() => refuseTopic(after.topic_id, after.message_class));
  }
  refusals.try(() => refuseLocalTime(values.experiment, row.local_time, 'experiment'));
  refusals.throw();
  return {
    values,
    changesAudience,
    changesCount: changesAudience || changesTopic || 'message_class' in values,
  };
}

/**
 * Refuses to change the audience of a follow-up, and to give another campaign a list of recipients.
 */
function refuseFollowUp({ audience_type: before }: CampaignRow, body: Given): void {
  const given = audienceTypeOf(body);
  const isOne = before === 'FOLLOW_UP';
  const isOther = given !== undefined && given !== before && (isOne || given === 'FOLLOW_UP');
  const choosesOthers = isOne && (Boolean(body.segmentId) || conditionIn(body) !== null);
  if (!isOther && !choosesOthers) return;
  const field = given !== undefined && !body.audienceType ? 'type' : 'audienceType';
  const message = isOne
    ? 'The recipients of a follow-up cannot be changed. Leave out `audienceType`, `segmentId`, ' +
      '`audienceFilter` and `audienceCondition`.'
    : 'A follow-up can only be created with POST /campaigns/{id}/follow-up.';
  throw invalidField(isOther ? field : 'audienceType', 'not_allowed', message);
}

/**
 * Refuses changes that the state of the campaign does not allow.
 * @param isUndecided true if the campaign's experiment has begun and is not decided
 * @throws Problem CAMPAIGN_NOT_EDITABLE, CAMPAIGN_SEGMENT_LOCKED
 */
export function refuseEdit(
  { status }: CampaignRow,
  { values, changesAudience }: CampaignEdit,
  isUndecided = false,
): void {
  if (!(campaignActions.edit as readonly string[]).includes(status)) {
    const message = `A campaign with the status ${status} cannot be edited.`;
    throw new Problem('CAMPAIGN_NOT_EDITABLE', { message, details: { status } });
  }
  const changed = Object.keys(values);
  if (status === 'PAUSED' && !changed.every((column) => pausedColumns.includes(column))) {
    throw new Problem('CAMPAIGN_NOT_EDITABLE', {
      message:
        'While a campaign is paused, only subject, body, fromName, replyTo and maxPerMinute can be changed.',
      suggestion: 'Leave out all other fields.',
      details: { status },
    });
  }
  if (isUndecided && changed.some((column) => column !== 'max_per_minute')) {
    throw new Problem('CAMPAIGN_NOT_EDITABLE', {
      message: 'The content of a campaign cannot be changed until its experiment is decided.',
      suggestion: 'Decide it with POST /campaigns/{id}/experiment/decide.',
      details: { status },
    });
  }
  if (status === 'SCHEDULED' && (changesAudience || 'topic_id' in values)) {
    throw new Problem('CAMPAIGN_SEGMENT_LOCKED');
  }
}

function differs(column: string, value: unknown, row: CampaignRow): boolean {
  const stored = row[column as keyof CampaignRow];
  if (['utm', 'goal', 'experiment'].includes(column)) return !isDeepStrictEqual(value, stored);
  if (column !== 'audience_condition') return value !== stored;
  if (value === null || stored === null) return value !== stored;
  return !meansTheSame(value as Condition, stored as Condition);
}

function requireAudience(after: CampaignValues): void {
  if (after.audience_type === 'SEGMENT' && after.segment_id === null) {
    const message = 'Is required when `audienceType` is SEGMENT.';
    throw invalidField('segmentId', 'invalid_type', message, 'undefined');
  }
  if (after.audience_type === 'FILTERED' && after.audience_condition === null) {
    const message = 'Is required when `audienceType` is FILTERED.';
    throw invalidField('audienceFilter', 'invalid_type', message, 'undefined');
  }
}
