import { z } from 'zod';
import { readConsent } from '../../db/consent/log.ts';
import { type ContactRow, findContact } from '../../db/contacts/contacts.ts';
import {
  type ExportedList,
  exportedIds,
  listFilesOf,
  listMemberships,
  readSnapshot,
} from '../../db/reads/contacts/export.ts';
import type { Database } from '../../db/database.ts';
import { readEvents } from '../../db/events/events.ts';
import { findSuppression } from '../../db/suppression/list.ts';
import { listContactTopics } from '../../db/topics/choices.ts';
import { findExecutionOf } from '../../db/workflows/executions/executions.ts';
import { listStepExecutions } from '../../db/workflows/executions/steps.ts';
import { found } from '../../domain/errors.ts';
import { ConsentLine, presentConsent } from '../consent/log.ts';
import { Email, readEmail, waitingExample } from '../emails/emails.ts';
import { EventAnswer, eventExample, presentEvent } from '../events/record.ts';
import { Answer, endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import { named, Time, time, ById } from '../http/schemas.ts';
import { presentSuppression, SuppressionEntry } from '../suppression/list.ts';
import { ContactTopicAnswer, presentContactTopic } from '../topics/contact-topics.ts';
import {
  Execution,
  executionExample,
  presentExecution,
  presentStepExecution,
  StepExecution,
} from '../executions/record.ts';
import { stepsOf } from '../executions/executions.ts';
import type { Project } from '../access/caller.ts';
import { Contact, contactExample, presentContact } from '../contacts/record.ts';

const ContactExport = named('ContactExport', {
  exportedAt: Time,
  contact: Contact,
  topics: z.array(ContactTopicAnswer),
  suppression: SuppressionEntry.nullable(),
  segments: z.array(z.object({ id: z.uuid(), name: z.string() })),
  consent: z.array(ConsentLine),
  events: z.array(EventAnswer),
  emails: z.array(
    Email.extend({
      attachments: z.array(
        z.object({ filename: z.string(), contentType: z.string(), size: z.int() }),
      ),
    }),
  ),
  executions: z.array(Execution.extend({ stepExecutions: z.array(StepExecution) })),
});

type Exporting = Pick<Services, 'config'> & { project: Project };

const exportContact = endpoint({
  id: 'exportContact',
  method: 'GET',
  path: '/contacts/{id}/export',
  summary: 'Export all data of a contact, as one file',
  description:
    'The data as of one moment, oldest first: the whole consent log, events, mail with bodies and ' +
    'traces, executions with their steps. Files are listed without their content. The response is ' +
    'streamed, and may be long; one that breaks off is incomplete. It breaks off when the ' +
    'client reads nothing for five seconds. A project has two exports at a time; further ' +
    'ones wait. SERVICE_UNAVAILABLE: this export has waited too long.',
  access: 'secret',
  params: ById,
  response: ContactExport,
  problems: ['CONTACT_NOT_FOUND'],
  example: {
    response: {
      exportedAt: '2026-11-21T08:30:00.000Z',
      contact: contactExample,
      topics: [],
      suppression: null,
      segments: [],
      consent: [],
      events: [eventExample],
      emails: [{ ...waitingExample, attachments: [] }],
      executions: [{ ...executionExample, stepExecutions: [] }],
    },
  },
  async handle({
    db,
    config,
    exports: slots,
    caller: { projectId, project },
    params: { id },
    note,
  }) {
    const contact = found('CONTACT', id, await findContact(db, projectId, id));
    const target = { type: 'contact', id };
    await note({ event: 'contact.exported', projectId, target, details: { contactId: id } });
    const end = new AbortController();
    const room = { slots, projectId, giveWay: () => end.abort() };
    const text = readSnapshot(db, room, (snapshot) =>
      exported({ config, project }, snapshot, contact),
    );
    return new Answer(undefined as never, {
      headers: { 'Content-Disposition': `attachment; filename="contact-${id}.json"` },
      text,
      signal: end.signal,
    });
  },
});

/** Yields the text of the export in parts that contain whole records. */
async function* exported(
  exporting: Exporting,
  db: Database,
  { id, project_id: projectId }: ContactRow,
): AsyncGenerator<string, void, undefined> {
  const contact = await findContact(db, projectId, id);
  if (!contact) throw new Error(`The contact ${id} was deleted before it could be exported.`);
  const entry = await findSuppression(db, projectId, contact.email);
  const head = {
    exportedAt: time(new Date()),
    contact: presentContact(contact, exporting.project),
    topics: (await listContactTopics(db, contact)).map(presentContactTopic),
    suppression: entry ? presentSuppression(entry, contact.email) : null,
    segments: await listMemberships(db, id),
  };
  yield JSON.stringify(head).slice(0, -1);
  const read: Record<ExportedList, (ids: string[]) => AsyncIterable<object>> = {
    consent: (ids) => consentOf(db, id, ids),
    events: (ids) => eventsOf(exporting, db, ids),
    emails: (ids) => emailsOf(exporting, db, ids),
    executions: (ids) => executionsOf(exporting, db, ids),
  };
  for (const list of ['consent', 'events', 'emails', 'executions'] as const) {
    yield `,"${list}":[`;
    let before = '';
    for await (const ids of exportedIds(db, contact, list)) {
      for await (const record of read[list](ids)) {
        yield before + JSON.stringify(record);
        before = ',';
      }
    }
    yield ']';
  }
  yield '}';
}

async function* consentOf(db: Database, contactId: string, ids: string[]) {
  for (const line of await readConsent(db, contactId, ids)) yield presentConsent(line);
}

async function* eventsOf({ project }: Exporting, db: Database, ids: string[]) {
  for (const event of await readEvents(db, ids)) yield presentEvent(event, project);
}

/** Yields mails, reading one at a time because a body has up to 2 MB. */
async function* emailsOf({ config, project }: Exporting, db: Database, ids: string[]) {
  for (const id of ids) {
    const email = await readEmail({ db, config }, project, id);
    yield { ...email, attachments: await listFilesOf(db, id) };
  }
}

async function* executionsOf({ project }: Exporting, db: Database, ids: string[]) {
  for (const id of ids) {
    const row = found('EXECUTION', id, await findExecutionOf(db, id));
    const steps = await listStepExecutions(db, id);
    const stepExecutions = steps.map((step) => presentStepExecution(step, stepsOf(row)));
    yield { ...(await presentExecution(db, row, project)), stepExecutions };
  }
}

export const exportEndpoints = [exportContact];
