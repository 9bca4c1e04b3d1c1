import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import type { Database } from '../../db/database.ts';
import { listCountedMail } from '../../db/transactions/mail/hold-back.ts';
import { findProject } from '../../db/projects/projects.ts';
import { findHoldout } from '../../db/projects/holdout.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import { readsOfSimulation } from '../../db/reads/simulation.ts';
import { findWorkflow, triggerWhereOf, type WorkflowRow } from '../../db/workflows/workflows.ts';
import { found, Problem, together, whenRight } from '../../domain/errors.ts';
import { unitMs } from '../../domain/filter/filter.ts';
import type { Inspection } from '../../domain/template/inspect.ts';
import type { Renderer } from '../../domain/template/render.ts';
import type { Inspector } from '../../domain/template/warnings.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';
import type { GraphWarning } from '../../domain/workflow/graph-rules.ts';
import {
  exampleContact,
  refuseKey,
  simulatedEvents,
  startOf,
} from '../../domain/simulation/given.ts';
import { simulate } from '../../domain/simulation/simulate.ts';
import {
  type SimulatedContact,
  type Simulation,
  simulatedStepsMax,
  TooManySteps,
} from '../../domain/simulation/simulation.ts';
import { stepTypes } from '../../domain/workflow/steps/registry.ts';
import { GivenContact } from '../contacts/given.ts';
import { Key } from './graph/starts.ts';
import { ReasonCode } from '../emails/record.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault, JsonObject, Moment, Time, time, Uuid } from '../http/schemas.ts';
import { TemplateWarnings } from '../templates/preview.ts';
import { findWarnings, refuseBroken } from './graph/enabling.ts';
import { findGraph } from './graph/versions.ts';
import { resolveGiven, SimulatedGraph, simulatedGraph } from './portable/simulated.ts';
import { GraphWarnings, WorkflowById } from './graph/record.ts';
import { SimulatedHappening, SimulatedReceiver, SimulatedStart } from './simulated-input.ts';

/** Maximum milliseconds that a simulation spends on rendering. */
const renderingMs = 5_000;
/** Maximum bytes of a whole response. A larger response is shortened: see `truncated`. */
const answerBytesMax = 2 * 1024 * 1024;
/** Maximum number of characters of an output value or a URL in a shortened response. */
const cutChars = 1_000;
const eventsMax = 200;
const horizonDays = 400;

const Given = z
  .object({
    contactId: Uuid.optional(),
    contact: GivenContact.optional(),
    context: JsonObject.meta({ type: 'object', additionalProperties: true }).optional(),
    events: z.array(SimulatedHappening).max(eventsMax).default([]),
    webhooks: z
      .record(z.string(), SimulatedReceiver)
      .default({})
      .describe('Responses of receivers, by the id or the key of the step'),
    arms: z
      .record(z.string(), z.string())
      .default({})
      .describe('The arms that SPLIT steps draw, by the id or the key of the step'),
    key: Key.optional(),
    startAt: Moment.optional(),
    until: Moment.optional(),
    horizonDays: z.int().min(1).max(3650).optional(),
    version: z.int().min(1).optional(),
    graph: SimulatedGraph.optional(),
  })
  .refine(({ contactId, contact }) => (contactId === undefined) !== (contact === undefined), {
    path: ['contactId'],
    ...fault('required', 'Send exactly one of `contactId` and `contact`.'),
    ...whenRight('contactId', 'contact'),
  })
  .refine(({ until, horizonDays: days }) => until === undefined || days === undefined, {
    path: ['horizonDays'],
    ...fault('not_allowed', 'Send at most one of `until` and `horizonDays`.'),
    ...whenRight('until', 'horizonDays'),
  })
  .refine(({ version, graph }) => version === undefined || graph === undefined, {
    path: ['graph'],
    ...fault('not_allowed', 'Send either `version` or `graph`, not both.'),
    ...whenRight('version', 'graph'),
  });

const Played = z.object({
  status: z.enum(['COMPLETED', 'EXITED', 'FAILED', 'WAITING']),
  exitReason: z.string().nullable(),
  error: z.string().nullable(),
  startedAt: Time,
  endedAt: Time.nullable(),
  truncated: z
    .boolean()
    .describe(
      'The response would be larger than 2 MB, so bodies and large outputs of steps are left out',
    ),
  path: z.array(
    z.object({
      stepId: z.string(),
      name: z.string(),
      type: z.enum(stepTypes),
      enteredAt: Time,
      leftAt: Time.nullable(),
      branch: z.string().nullable(),
      output: z.record(z.string(), z.unknown()).nullable(),
    }),
  ),
  emails: z.array(
    z.object({
      stepId: z.string(),
      at: Time,
      to: z.string(),
      from: z.string(),
      subject: z.string(),
      body: z.string().nullable(),
      messageClass: z.string(),
      outcome: z.enum(['send', 'withheld', 'held']),
      reason: ReasonCode.nullable().describe('Why it is withheld or held'),
      heldUntil: Time.nullable(),
      warnings: TemplateWarnings,
    }),
  ),
  webhooks: z.array(
    z.object({
      stepId: z.string(),
      at: Time,
      attempts: z.int(),
      method: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.unknown(),
    }),
  ),
  contact: z.object({
    email: z.string(),
    subscribed: z.boolean(),
    data: z.record(z.string(), z.unknown()),
  }),
  context: z.record(z.string(), z.unknown()).nullable(),
  start: SimulatedStart.optional(),
  warnings: GraphWarnings,
});

export const simulateExecution = endpoint({
  id: 'simulateExecution',
  method: 'POST',
  path: '/workflows/{id}/simulate',
  summary: 'Simulate one execution in memory, with a clock that jumps',
  description:
    'Nothing is stored, sent or called. Steps behave as in an execution, and so does the send policy. `events` ' +
    'happen during it; `webhooks` are responses of receivers, by default 200. It simulates the current workflow, a ' +
    `\`version\` of it, or a \`graph\`. SIMULATION_TOO_LARGE: more than ${simulatedStepsMax} steps, or 5 seconds of ` +
    'rendering. `warnings` are probable mistakes in the graph; each mail has those of a template preview.',
  access: 'secret',
  wrapped: true,
  params: WorkflowById,
  body: Given,
  response: Played,
  problems: ['WORKFLOW_NOT_FOUND', 'CONTACT_NOT_FOUND', 'WORKFLOW_INVALID', 'SIMULATION_TOO_LARGE'],
  example: {
    body: {
      contact: { email: 'ada@example.com', data: { plan: 'pro' } },
      events: [{ name: 'paid', after: 259_200, data: { amount: 5 } }],
    },
    response: {
      status: 'COMPLETED',
      exitReason: null,
      error: null,
      startedAt: '2026-11-21T08:30:00.000Z',
      endedAt: '2026-11-23T08:30:00.000Z',
      truncated: false,
      path: [
        {
          stepId: 'aa000000-0000-4000-8000-000000000002',
          name: 'Two days',
          type: 'DELAY',
          enteredAt: '2026-11-21T08:30:00.000Z',
          leftAt: '2026-11-23T08:30:00.000Z',
          branch: null,
          output: { delayAmount: 2, delayUnit: 'days', resumeAt: '2026-11-23T08:30:00.000Z' },
        },
      ],
      emails: [],
      webhooks: [],
      contact: { email: 'ada@example.com', subscribed: true, data: { plan: 'pro' } },
      context: null,
      warnings: [],
    },
  },
  async checkBeside({ db, caller: { projectId }, params: { id }, body }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const graph = body.graph
      ? simulatedGraph(body.graph)
      : await findGraph(db, workflow, body.version);
    await together(
      () => refuseKey(workflow.execution_key, body.key),
      () => resolveGiven(db, workflow.id, graph, body),
    );
  },
  async handle(call) {
    const { db, config, caller, params, body } = call;
    const { projectId } = caller;
    const workflow = found('WORKFLOW', params.id, await findWorkflow(db, projectId, params.id));
    const startAt = body.startAt ?? new Date();
    const contact = await contactOf(db, projectId, body, startAt);
    const drawn = body.graph
      ? simulatedGraph(body.graph)
      : await findGraph(db, workflow, body.version);
    const { receivers, graph } = await resolveGiven(db, workflow.id, drawn, body);
    await refuseBroken(db, workflow, drawn);
    refuseKey(workflow.execution_key, body.key);
    const { key, start } = startOf(startRulesOf(workflow), body, contact);
    const project = found('PROJECT', projectId, await findProject(db, projectId));
    const policy = await readSendPolicy(db, projectId);
    const days = body.horizonDays ?? horizonDays;
    const input = {
      workflow,
      graph,
      triggerEventName:
        workflow.trigger_type === 'SCHEDULE' ? 'schedule' : workflow.trigger_event_name,
      startEventName: workflow.trigger_event_name,
      contact,
      subject: { contact: body.contactId ?? contact.email, key },
      executionKey: workflow.execution_key,
      context: body.context ?? null,
      project,
      policy,
      // An example contact has a new id in each simulation, so it is in no hold-out group.
      holdout: body.contactId ? await findHoldout(db, projectId) : null,
      received: body.contactId ? await listCountedMail(db, body.contactId, policy.caps) : [],
      events: simulatedEvents(body.events, startAt),
      receivers,
      startAt,
      stopAt: body.until ?? new Date(startAt.getTime() + days * unitMs.days),
    };
    const services = {
      apiUrl: config.apiUrl,
      renderer: limited(call.renderer),
      billed: config.billing !== null,
      webhookAttemptsMax: config.webhook.attemptsMax,
      ...(await readsOfSimulation(db, { id: contact.id, project_id: projectId })),
      mark: randomBytes(16).toString('hex'),
      newId: randomUUID,
      breathe: () => nextTurn(),
    };
    const given = body.events.flatMap(({ data }) => Object.keys(data ?? {}));
    const keys = [...Object.keys(contact.data ?? {}), ...given];
    const warnings = await findWarnings(db, workflow, graph, keys);
    try {
      return { ...presented(await simulate(input, services), warnings), ...(start && { start }) };
    } catch (error) {
      if (error instanceof TooManySteps) {
        const message = `The simulation would have more than ${simulatedStepsMax} steps.`;
        throw new Problem('SIMULATION_TOO_LARGE', { message });
      }
      if (error instanceof TooMuchRendering) {
        throw new Problem('SIMULATION_TOO_LARGE', {
          message: `Rendering took longer than ${renderingMs / 1000} seconds.`,
          suggestion: 'Simplify the templates, or simulate a part of the workflow.',
        });
      }
      throw error;
    }
  },
});

async function contactOf(
  db: Database,
  projectId: string,
  { contactId, contact }: z.output<typeof Given>,
  now: Date,
): Promise<SimulatedContact> {
  if (contactId !== undefined) {
    const row = found('CONTACT', contactId, await findContact(db, projectId, contactId));
    return { ...row, createdAt: row.created_at, updatedAt: row.updated_at };
  }
  const { email = '', subscribed = true, data } = contact ?? {};
  return exampleContact({ email, subscribed, data }, { id: randomUUID(), now });
}

function startRulesOf(workflow: WorkflowRow) {
  return { where: triggerWhereOf(workflow), executionKey: workflow.execution_key };
}

class TooMuchRendering extends Error {}

/**
 * Returns a renderer that throws `TooMuchRendering` after it has rendered for `renderingMs` in all.
 */
function limited(renderer: TemplateRenderer): Renderer & Inspector {
  const inspected = new Map<string, Promise<Inspection>>();
  let spentMs = 0;
  async function timed<T>(work: () => Promise<T>): Promise<T> {
    if (spentMs > renderingMs) throw new TooMuchRendering();
    const began = performance.now();
    try {
      return await work();
    } finally {
      spentMs += performance.now() - began;
    }
  }
  return {
    render: (kind, template, variables) => timed(() => renderer.render(kind, template, variables)),
    renderTexts: (sources, variables) => timed(() => renderer.renderTexts(sources, variables)),
    inspect(source, owner) {
      const known = inspected.get(source) ?? timed(() => renderer.inspect(source, owner));
      inspected.set(source, known);
      return known;
    },
  };
}

function presented(played: Simulation, warnings: GraphWarning[]): z.input<typeof Played> {
  const answer = {
    ...played,
    startedAt: time(played.startedAt),
    endedAt: time(played.endedAt),
    truncated: false,
    path: played.path.map((step) => ({
      ...step,
      enteredAt: time(step.enteredAt),
      leftAt: time(step.leftAt),
    })),
    emails: played.emails.map((mail) => ({
      ...mail,
      at: time(mail.at),
      heldUntil: time(mail.heldUntil),
    })),
    webhooks: played.webhooks.map((webhook) => ({
      ...webhook,
      at: time(webhook.at),
      body: parsed(webhook.body),
    })),
    contact: {
      email: played.contact.email,
      subscribed: played.contact.subscribed,
      data: played.contact.data ?? {},
    },
    warnings,
  };
  if (Buffer.byteLength(JSON.stringify(answer)) <= answerBytesMax) return answer;
  return {
    ...answer,
    truncated: true,
    path: answer.path.map((step) => ({ ...step, output: step.output && cut(step.output) })),
    emails: answer.emails.map((mail) => ({ ...mail, body: null })),
    webhooks: answer.webhooks.map((webhook) => ({
      ...webhook,
      url: webhook.url.slice(0, cutChars),
      body: null,
    })),
  };
}

/** Shortens the output of a step: long texts are cut, and other large values become null. */
function cut(output: Record<string, unknown>): Record<string, unknown> {
  const short = Object.entries(output).map(([name, value]) => {
    if (typeof value === 'string') return [name, value.slice(0, cutChars)];
    return [name, JSON.stringify(value ?? null).length > cutChars ? null : value];
  });
  return Object.fromEntries(short);
}

/** Returns the body of a request as a JSON value, or as text if it is not JSON. */
function parsed(body: string | null): unknown {
  if (body === null) return null;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
