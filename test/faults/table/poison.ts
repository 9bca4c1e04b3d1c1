import { sql } from 'kysely';
import { createTemplate, createWorkflow } from '../../support/histories/executions.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { bounceDetail, sesEvent } from '../../support/fakes/ses-messages.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Fault } from './faults.ts';
import { campaignWith, executions, type Part, type Play, sends } from './workload.ts';

/** Data that could stop the process that handles it; other work must continue. */

/** Each 20th contact makes the template of the campaign exceed its limits. */
const poisonedCampaign = (play: Play) =>
  campaignWith(play, {
    given: { body: '<p>{% for i in (1..loops) %}x{% endfor %} {{name}}</p>' },
    data: 'case n % 20 when 0 then \'{"loops": 1000000000}\' else \'{"loops": 1}\' end',
  });

/**
 * Executions that are stuck or never end, beside other work. Each can still be cancelled
 * afterwards.
 * @param graph SQL that changes the graph of the current version.
 */
const poisonedExecutions =
  (name: string, graph: string) =>
  async ({ world, mark }: Play): Promise<Part> => {
    const { engine, db } = world;
    const templateId = await createTemplate(engine);
    const workflow = await createWorkflow(engine, {
      eventName: `${mark}${name}`,
      steps: [
        { type: 'WAIT_FOR_EVENT', name: 'One', config: { eventName: `${mark}never`, timeout: 1 } },
        { type: 'SEND_EMAIL', name: 'Two', templateId },
      ],
    });
    await sql`update workflow_version set graph = ${sql.raw(graph)} from workflow
      where workflow.id = ${workflow.id} and workflow_id = workflow.id
        and workflow_version.version = workflow.version`.execute(db);
    const emails = Array.from({ length: 5 }, (_, n) => `${mark}p-${n}@people.test`);
    return {
      async begin() {
        for (const email of emails) {
          const event = { email, event: `${mark}${name}` };
          await world.ask('POST', '/v1/track', event, email + name);
        }
      },
      pending: async () => null,
      async tally() {
        const rows = await db
          .selectFrom('execution')
          .select('id')
          .where('workflow_id', '=', workflow.id)
          .execute();
        const answers = await Promise.all(
          rows.map(({ id }) => engine.call('DELETE', `/workflows/${workflow.id}/executions/${id}`)),
        );
        const refused = answers.filter(({ status }) => status !== 200).length;
        return {
          lost: emails.length - rows.length,
          duplicated: 0,
          unknown: 0,
          wrong: refused > 0 ? [`${refused} executions could not be cancelled`] : [],
        };
      },
    };
  };

const unknownStep = `replace(graph::text, '"SEND_EMAIL"', '"FUTURE_STEP"')::jsonb`;
/** A transition from the last step back to the first. */
const endless = `jsonb_set(graph, '{transitions}', graph -> 'transitions' || (
  select jsonb_agg(t || jsonb_build_object('fromStepId', t -> 'toStepId', 'toStepId', t -> 'fromStepId'))
    from jsonb_array_elements(graph -> 'transitions') t))`;

const reports = 50;

/** The provider sends 50 reports at once about one mail, equal and different ones. */
async function feedback({ world, mark }: Play): Promise<Part> {
  const { api, call, domain } = world.engine;
  const fake = await useFakeSns();
  api.services.feedbackReaders = fake.feedbackReaders;
  const to = `${mark}f@people.test`;
  const mail = { to, from: `a@${domain}`, subject: 'Hi', body: '<p>Hi</p>' };
  const { body } = await call('POST', '/v1/send', mail);
  const emailId = body.data.emails[0].email as string;
  const messageId = `${emailId}@smtp`;
  const named = { emailId, messageId };
  let failed = 0;
  const post = async (notification: unknown) => {
    const { status } = await api.request('POST', '/webhooks/sns', {
      body: JSON.stringify(notification),
      headers: { 'Content-Type': 'text/plain; charset=UTF-8' },
    });
    if (status !== 200) failed += 1;
  };
  const countEvents = async (name: string) => {
    const rows = await world.db
      .selectFrom('event')
      .select('id')
      .where('email_id', '=', emailId)
      .where('name', '=', name)
      .execute();
    return rows.length;
  };
  return {
    async begin() {
      // The first reports may arrive before the worker knows that the mail was accepted.
      await waitFor('the mail', () => world.sink.counts.get(to) === 1);
      const same = fake.notification(sesEvent('Bounce', named, bounceDetail('Permanent')));
      const clicks = Array.from({ length: reports }, (_, n) =>
        fake.notification(sesEvent('Click', named, { link: `https://shop.test/${n}` })),
      );
      await Promise.all([
        ...Array.from({ length: reports }, () => post(same)),
        ...clicks.map(post),
      ]);
    },
    pending: async () => null,
    async tally() {
      const [bounces, clicks] = [
        await countEvents('email.bounce'),
        await countEvents('email.click'),
      ];
      return {
        lost: Math.max(0, 1 - bounces) + Math.max(0, reports - clicks),
        duplicated: Math.max(0, bounces - 1) + Math.max(0, clicks - reports),
        unknown: 0,
        wrong: failed > 0 ? [`${failed} reports were not taken`] : [],
      };
    },
  };
}

export const poison: readonly Fault[] = [
  {
    name: 'each 20th contact breaks the template',
    parts: [poisonedCampaign, executions, sends],
  },
  {
    name: 'a template without an end',
    parts: [
      (play) =>
        campaignWith(
          { ...play, mark: `${play.mark}x`, recipients: 20 },
          { given: { body: '<p>{% for i in (1..1000000000) %}x{% endfor %}</p>' } },
        ),
      executions,
      sends,
    ],
  },
  {
    name: 'a graph with a step that no worker knows',
    parts: [poisonedExecutions('unknown', unknownStep), executions, sends],
  },
  {
    name: 'a graph without an end',
    parts: [poisonedExecutions('endless', endless), executions, sends],
  },
  { name: 'feedback 50 times in parallel', parts: [feedback, sends] },
];
