import { z } from 'zod';
import { planContactData } from '../contact/data.ts';
import { normaliseEmail } from '../email-address.ts';
import { type FieldCode, fault, whenRight } from '../errors.ts';
import {
  type Field,
  stepFieldOf,
  type Unit,
  unitMs,
  type ValueOperator,
  valueOperators,
} from '../filter/filter.ts';
import { comparisonFaults } from '../filter/parse.ts';
import { Days, WallTimeText } from '../time/schemas.ts';
import { isZone, type Weekday } from '../time/zones.ts';
import { eventNameFault, meantMailEvent } from '../event-names.ts';
import type { StepType } from './step-types.ts';
import { isUuid } from '../ids.ts';
import { limits } from '../limits.ts';
import { selection } from '../filter/selection.ts';

/**
 * The config of each step type, stored as sent but without unknown keys. Defaults are not filled
 * in: the code that reads a setting applies its default.
 */

function addFault(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  code: FieldCode,
  message: string,
): void {
  context.addIssue({ code: 'custom', path, ...fault(code, message) });
}

/** The name of an event, trimmed: whoever sends one, tracks one or asks for one means the same. */
export const EventName = z
  .string()
  .trim()
  .superRefine((name, context) => {
    const wrong = eventNameFault(name);
    if (wrong) addFault(context, [], wrong.code, wrong.message);
  })
  .meta({ type: 'string', minLength: 1, maxLength: limits.eventNameChars });

/** The rule for what is started, woken or ended by an event: under `email.` only some events happen. */
export function refuseUnmadeEvent(name: string, context: z.core.$RefinementCtx): void {
  const meant = meantMailEvent(name);
  if (meant === null) return;
  context.addIssue({
    code: 'custom',
    message: `There is no such event of mail. Did you mean "${meant}"?`,
    params: { code: 'reserved_event', received: name },
  });
}

/** The name of an event that something waits for. */
export const ExpectedEvent = EventName.superRefine(refuseUnmadeEvent);

const JsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  fault('invalid_type', 'Must be an object.'),
);

const TriggerConfig = z.object({ eventName: ExpectedEvent.optional() });

const Recipient = z
  .object({
    /** Absent: the contact. */
    type: z.enum(['CONTACT', 'CUSTOM']).optional(),
    /** An address, or a template for one. */
    customEmail: z.string().max(limits.headerValueChars).optional(),
  })
  .superRefine(
    ({ type, customEmail }, context) => {
      if (type !== 'CUSTOM') return;
      if (customEmail === undefined) {
        addFault(context, ['customEmail'], 'required', 'Give the address to send to.');
      } else if (!/\{[{%]/.test(customEmail) && normaliseEmail(customEmail) === null) {
        addFault(context, ['customEmail'], 'invalid_string', 'Must be an email address.');
      }
    },
    whenRight('type', 'customEmail'),
  );

const SendEmailConfig = z.object({
  recipient: Recipient.optional(),
  /** A copy of the step's template id, which takes precedence. */
  templateId: z
    .string()
    .refine(isUuid, fault('invalid_string', 'Must be a uuid.'))
    .transform((id) => id.toLowerCase())
    .nullable()
    .optional(),
  /** Instead of the topic of the template; null: none. */
  topicId: z
    .string()
    .refine(isUuid, fault('invalid_string', 'Must be a uuid.'))
    .transform((id) => id.toLowerCase())
    .nullable()
    .optional(),
});

const DelayUnit = z.enum(Object.keys(unitMs) as Unit[]);

const OffsetAmount = z.int();

/** The forms of a delay by the key that each needs, and all the keys it knows. */
const delayForms = {
  amount: ['amount', 'unit'],
  until: ['until'],
  untilField: ['untilField', 'offset', 'ifPast'],
} as const;

/** A delay of a length, until a time of day, or until a date of the contact or the context. */
type DelayForm =
  | { amount: number; unit: Unit }
  | { until: { time: string; days?: Weekday[] | undefined; timeZone?: string | undefined } }
  | {
      untilField: string;
      offset?: { amount: number; unit: Unit } | undefined;
      ifPast?: 'continue' | 'exit' | undefined;
    };

const DelayConfig = z
  .object({
    amount: z.int().min(1).optional(),
    unit: DelayUnit.optional(),
    /** The next time that a clock shows this. */
    until: z
      .object({
        time: WallTimeText,
        /** Absent: all. */
        days: Days.optional(),
        /** Absent: the contact's. */
        timeZone: z
          .string()
          .refine(
            (text) => text === 'contact' || isZone(text),
            fault('invalid_string', 'Must be "contact" or the name of a time zone.'),
          )
          .optional(),
      })
      .optional(),
    untilField: z.string().max(limits.filterFieldChars).optional(),
    /** Is added to the date; negative: before it. */
    offset: z.object({ amount: OffsetAmount, unit: DelayUnit }).optional(),
    /** What happens when the date is past, or there is none. Absent: the execution goes on. */
    ifPast: z.enum(['continue', 'exit']).optional(),
  })
  .superRefine((config, context) => {
    const forms = Object.keys(delayForms) as (keyof typeof delayForms)[];
    const form = forms.find((key) => config[key] !== undefined) ?? 'amount';
    for (const key of Object.keys(config) as (keyof typeof config)[]) {
      const isOther = !(delayForms[form] as readonly string[]).includes(key);
      if (isOther && config[key] !== undefined) {
        addFault(context, [key], 'not_allowed', `Does not go together with ${form}.`);
      }
    }
    const { amount, unit, untilField, offset } = config;
    if (form === 'amount') checkLength(context, { amount, unit });
    if (untilField !== undefined) checkDateField(context, untilField);
    const days = offset ? Math.abs(offset.amount * unitMs[offset.unit]) / unitMs.days : 0;
    if (offset && days > offsetDaysMax) {
      const [code, word] =
        offset.amount > 0 ? (['too_big', 'after'] as const) : (['too_small', 'before'] as const);
      addFault(
        context,
        ['offset', 'amount'],
        code,
        `At most ${offsetDaysMax} days ${word} the date.`,
      );
    }
  })
  .transform((config) => config as DelayForm);

/** How far from its date a delay may end. */
const offsetDaysMax = 3650;

function checkLength(
  context: z.core.$RefinementCtx,
  { amount, unit }: { amount: number | undefined; unit: Unit | undefined },
): void {
  for (const [key, value] of Object.entries({ amount, unit })) {
    if (value !== undefined) continue;
    context.addIssue({ code: 'invalid_type', expected: 'unknown', input: undefined, path: [key] });
  }
  if (amount === undefined || unit === undefined) return;
  if (amount * unitMs[unit] <= limits.delayDaysMax * unitMs.days) return;
  addFault(context, ['amount'], 'too_big', `A delay is at most ${limits.delayDaysMax} days.`);
}

function checkDateField(context: z.core.$RefinementCtx, untilField: string): void {
  const kind = stepFieldOf(untilField)?.field.kind;
  if (kind === 'data' || kind === 'time') return;
  const message =
    'Must be a date of the contact, such as contact.data.birthday, or begin with event. or workflow.';
  addFault(context, ['untilField'], 'unsupported_field', message);
}

const WaitForEventConfig = selection({
  eventName: ExpectedEvent,
  /** Seconds; absent: waits without limit. */
  timeout: z.int().min(1).max(limits.waitSecondsMax).optional(),
});

/** Issues of one comparison. `path` is its place in the config. */
function checkComparison(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  field: Field,
  comparison: { operator: ValueOperator; value?: unknown },
): void {
  for (const { at, message, ...params } of comparisonFaults(field, comparison)) {
    context.addIssue({ code: 'custom', path: [...path, at], message, params });
  }
}

const unsupportedField = 'Is no field of contacts, and does not begin with event. or workflow.';

const Comparison = { operator: z.enum(valueOperators), value: z.unknown().optional() };

const OfField = { field: z.string(), ...Comparison };
const ofField = Object.keys(OfField);

function checkOfField(
  config: { field: string; operator: ValueOperator; value?: unknown },
  context: z.core.$RefinementCtx,
): void {
  const place = stepFieldOf(config.field);
  if (place) checkComparison(context, [], place.field, config);
  else addFault(context, ['field'], 'unsupported_field', unsupportedField);
}

const BinaryCondition = selection({
  mode: z.literal('binary').optional(),
  ...OfField,
}).superRefine(checkOfField, whenRight(...ofField));

/** Most exit rules of a workflow, and most conditions of one. */
const exitRulesMax = 10;
const exitConditionsMax = 20;

const ExitCondition = selection(OfField).superRefine(
  (config, context) => {
    if (!config.field.startsWith('workflow.')) return checkOfField(config, context);
    const message = 'Must be a field of contacts, or begin with event.';
    addFault(context, ['field'], 'unsupported_field', message);
  },
  whenRight(...ofField),
);

/** The exit rules of a workflow: see `exit-rules.ts`. */
export const ExitRules = z
  .array(
    selection({
      eventName: ExpectedEvent,
      where: z.array(ExitCondition).max(exitConditionsMax).optional(),
      reason: z.string().max(limits.exitReasonChars),
    }),
  )
  .max(exitRulesMax);

const MultiCondition = selection({
  mode: z.literal('multi'),
  field: z.string(),
  branches: z
    .array(
      selection({
        id: z.string().min(1).max(limits.nameChars),
        name: z.string().trim().min(1).max(limits.nameChars),
        ...Comparison,
      }),
    )
    .min(1)
    .max(limits.conditionBranches),
}).superRefine(({ field, branches }, context) => {
  const place = stepFieldOf(field);
  if (!place) addFault(context, ['field'], 'unsupported_field', unsupportedField);
  const seen = new Set(['default']);
  branches.forEach((branch, index) => {
    if (place) checkComparison(context, ['branches', index], place.field, branch);
    if (seen.has(branch.id)) {
      const message = branch.id === 'default' ? 'Is a reserved id.' : 'Must be unique.';
      addFault(context, ['branches', index, 'id'], 'custom', message);
    }
    seen.add(branch.id);
  });
});

const ConditionConfig = z.discriminatedUnion('mode', [BinaryCondition, MultiCondition]);

/** Headers of a webhook that only the service sets, in lower case. */
const reservedHeaders: ReadonlySet<string> = new Set([
  'user-agent',
  'everpost-delivery',
  'everpost-signature',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
]);

/** RFC 9110 §5.6.2: a valid header name. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const WebhookHeaders = JsonObject.superRefine((headers, context) => {
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) {
      addFault(context, [name], 'invalid_string', 'Is no name of a header.');
    } else if (reservedHeaders.has(name.toLowerCase())) {
      addFault(context, [name], 'not_allowed', 'This header is set by the service.');
    } else if (typeof value !== 'string') {
      addFault(context, [name], 'invalid_type', 'Must be text.');
    } else if (value.length > limits.headerValueChars) {
      addFault(context, [name], 'too_big', `Has at most ${limits.headerValueChars} characters.`);
    } else if (/[\r\n]/.test(value)) {
      addFault(context, [name], 'invalid_string', 'Must be one line.');
    }
  }
})
  .transform((headers) => headers as Record<string, string>)
  .meta({ type: 'object', additionalProperties: { type: 'string' } });

const WebhookConfig = z.object({
  url: z.string().regex(/^https?:\/\/./is, 'Must begin with http:// or https://.'),
  /** Absent: POST. */
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  headers: WebhookHeaders.optional(),
  /** Any JSON. */
  body: z.unknown().optional(),
  /** What happens to the execution when the response is not 2xx. Absent: it continues. */
  onFailure: z.enum(['continue', 'fail']).optional(),
});

const UpdateContactConfig = z
  .object({
    updates: JsonObject.meta({ type: 'object', additionalProperties: true }).optional(),
    /** Absent: none. */
    subscriptionAction: z.enum(['none', 'subscribe', 'unsubscribe']).optional(),
  })
  .superRefine(
    ({ updates, subscriptionAction }, context) => {
      const { set, remove } = planContactData(updates);
      const locale = set['locale'];
      if (locale !== undefined && typeof locale !== 'string') {
        addFault(context, ['updates', 'locale'], 'invalid_type', 'Must be text.');
      }
      const changesData = Object.keys(set).length > 0 || remove.length > 0;
      if (changesData || (subscriptionAction ?? 'none') !== 'none') return;
      addFault(context, ['updates'], 'required', 'Give a change of data or of the subscription.');
    },
    whenRight('updates', 'subscriptionAction'),
  );

const ExitConfig = z.object({ reason: z.string().max(limits.exitReasonChars).optional() });

/** The config schema of each step type. */
export const stepConfigs = {
  TRIGGER: TriggerConfig,
  SEND_EMAIL: SendEmailConfig,
  DELAY: DelayConfig,
  WAIT_FOR_EVENT: WaitForEventConfig,
  CONDITION: ConditionConfig,
  WEBHOOK: WebhookConfig,
  UPDATE_CONTACT: UpdateContactConfig,
  EXIT: ExitConfig,
} as const satisfies Record<StepType, z.ZodType<Record<string, unknown>>>;

/** The stored config of a step type. */
export type StepConfig<T extends StepType> = z.output<(typeof stepConfigs)[T]>;
