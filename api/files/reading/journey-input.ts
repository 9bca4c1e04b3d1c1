import { z } from 'zod';
import { whenRight } from '../../../domain/errors.ts';
import { selection } from '../../../domain/filter/selection.ts';
import { limits } from '../../../domain/limits.ts';
import { durationPattern, secondsOf } from '../../../domain/time/duration.ts';
import { EventName } from '../../../domain/workflow/steps/schemas.ts';
import { withinEventData } from '../../public/event-data.ts';
import { addFault, ContactData, Email, JsonObject, Moment } from '../../http/schemas.ts';
import { SimulatedReceiver } from '../../workflows/simulated-input.ts';

/** The file of journey tests: `*.journey.yaml`. Durations become seconds. */

const durationText = 'Must be a number of seconds, or a duration such as 90s, 15m, 3d or 1d12h.';

const Duration = z
  .union([z.number().min(0), z.string()], { error: durationText })
  .transform((given, context) => {
    const seconds = typeof given === 'number' ? given : secondsOf(given);
    return seconds ?? addFault(context, 'invalid_string', durationText);
  })
  .meta({
    anyOf: [
      { type: 'number', minimum: 0 },
      { type: 'string', pattern: durationPattern.source },
    ],
  });

/** A text that may look like a number or a boolean in YAML. */
const Word = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const anyObject = { type: 'object', additionalProperties: true } as const;

const Data = JsonObject.meta(anyObject);

/** A step, or a step with the branch that it takes. */
const PathItem = z
  .union([Word, z.record(z.string(), Word)], {
    error: 'Must be the key of a step, or its key with a branch, such as {paid: event}.',
  })
  .transform((item, context) => {
    if (typeof item === 'string') return { step: item, branch: null };
    const [entry, ...more] = Object.entries(item);
    if (!entry || more.length > 0) {
      return addFault(context, 'custom', 'Must have one step with its branch.');
    }
    return { step: entry[0], branch: entry[1] };
  })
  .meta({
    anyOf: [
      { type: ['string', 'number', 'boolean'] },
      {
        type: 'object',
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: { type: ['string', 'number', 'boolean'] },
      },
    ],
  });

const Texts = z
  .union([z.string(), z.array(z.string())], { error: 'Must be a text, or a list of texts.' })
  .transform((given) => (typeof given === 'string' ? [given] : given))
  .meta({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] });

const ExpectedMail = selection({
  step: Word.optional().describe('Key of the step that sends the mail'),
  to: z.string().optional().describe('Address of the recipient'),
  from: z.string().optional().describe('Address of the sender'),
  subject: z.string().optional().describe('The whole subject'),
  contains: Texts.optional().describe('Texts that are in the body'),
  lacks: Texts.optional().describe('Texts that are not in the body'),
  at: Duration.optional().describe(
    'Time from the start to the step; for held mail, also the time from the start to its sending',
  ),
});

const ExpectedWebhook = selection({
  step: Word.optional().describe('Key of the step that makes the request'),
  url: z.string().optional().describe('The whole URL'),
  body: Data.optional().describe('These keys of the body have these values'),
});

const ExpectedContact = selection({
  subscribed: z.boolean().optional().describe('The subscription'),
  data: Data.optional().describe('These keys have these values; null: the key is missing'),
});

const Expect = selection({
  path: z.array(PathItem).optional().describe('Exactly these steps, without the trigger'),
  passes: z.array(Word).optional().describe('These steps in this order, with others between'),
  avoids: z.array(Word).optional().describe('Steps that are never entered'),
  mails: z
    .array(ExpectedMail)
    .optional()
    .describe('All mail that is sent or held, in order; []: none'),
  webhooks: z.array(ExpectedWebhook).optional().describe('All requests, in order; []: none'),
  contact: ExpectedContact.optional().describe('The contact at the end'),
  end: z
    .enum(['COMPLETED', 'EXITED', 'FAILED', 'WAITING'])
    .optional()
    .describe('Status of the execution at the end'),
  reason: z.string().optional().describe('Exit reason'),
  error: z.string().optional().describe('A part of the error of a failed execution'),
  after: Duration.optional().describe('Time from the start to the end'),
  snapshot: z
    .boolean()
    .optional()
    .describe('true: subject and body of each mail equal the files of the snapshot'),
}).superRefine((expect, context) => {
  const expectsNothing = Object.values(expect).every(
    (value) => value === undefined || value === false,
  );
  if (expectsNothing) {
    addFault(context, 'required', 'The test expects nothing. Add for example `path` or `end`.');
  }
});

const Happening = selection({
  name: EventName.describe('Name of the event'),
  after: Duration.optional().describe('Time from the start'),
  at: Moment.optional().describe('Instead of `after`'),
  data: ContactData.refine(...withinEventData)
    .optional()
    .describe('Data of the event'),
}).superRefine(
  ({ after, at }, context) => {
    if ((after === undefined) !== (at === undefined)) return;
    addFault(context, 'required', 'Must have exactly one of `after` and `at`.', ['after']);
  },
  whenRight('after', 'at'),
);

const Receiver = selection({
  statusCode: SimulatedReceiver.shape.statusCode.describe('Status of the response; default 200'),
  response: SimulatedReceiver.shape.response,
  failures: SimulatedReceiver.shape.failures,
});

/** The fields of a file for all its tests, or of one test. */
const startFields = {
  contact: selection({
    email: Email.optional().describe('Address of the contact'),
    subscribed: z.boolean().optional().describe('Default: true'),
    data: ContactData.optional().describe('Data of the contact'),
    topics: z
      .record(z.string(), z.boolean())
      .optional()
      .describe('Choices of the contact, by the key of the topic'),
  })
    .optional()
    .describe('The contact, which is invented'),
  context: Data.optional().describe('Data of the event that starts the execution'),
  key: Word.pipe(z.string().min(1).max(limits.executionKeyChars))
    .optional()
    .describe('Execution key; default: from the context'),
  arms: z
    .record(z.string(), Word)
    .optional()
    .describe('The arms that SPLIT steps draw, by the key of the step'),
  startAt: Moment.optional().describe('Default: 2026-01-05T09:00:00.000Z'),
  webhooks: z
    .record(z.string(), Receiver)
    .optional()
    .describe('Responses of receivers, by the key of the step'),
};

export const JourneyTest = selection({
  name: z.string().min(1).describe('Name of the test'),
  ...startFields,
  events: z
    .array(Happening)
    .max(200)
    .optional()
    .describe('What the contact does meanwhile, in any order'),
  expect: Expect.describe('What must be true; at least one field'),
});

const fileFields = {
  workflow: z
    .string({ error: 'Must be the key of a workflow: the name of its file without the ending.' })
    .describe('Key of the workflow: the name of its file without the ending'),
  ...startFields,
};

/** The file whose tests are not checked yet. */
export const JourneyOutline = selection({ ...fileFields, tests: z.array(z.unknown()) });

export const JourneyFile = selection({
  ...fileFields,
  tests: z.array(JourneyTest).describe('The tests of this workflow'),
}).describe('Tests of a workflow, which run without a server');

export type JourneyTest = z.output<typeof JourneyTest>;
export type Expectation = JourneyTest['expect'];
