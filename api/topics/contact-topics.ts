import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { findContact, lockContact } from '../../db/contacts/contacts.ts';
import { type ContactTopic, listContactTopics as listRows } from '../../db/topics/choices.ts';
import { recordTopicChoices } from '../../db/transactions/contacts/choose-topics.ts';
import { listTopicsByKey } from '../../db/topics/topics.ts';
import { found, Refusals } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { evidenceOf } from '../consent/evidence.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf } from '../http/record.ts';
import { fault, named, Time, time, ById } from '../http/schemas.ts';
import { Visibility } from './input.ts';
import { unknownTopic } from '../consent/input.ts';

export const ContactTopicAnswer = named('ContactTopic', {
  id: z.uuid().meta({ examples: ['7e100000-0000-4000-8000-000000000001'] }),
  key: z.string().meta({ examples: ['product-news'] }),
  name: z.string().meta({ examples: ['Product news'] }),
  visibility: Visibility,
  subscribed: z
    .boolean()
    .describe('true: the contact gets mail of the topic, if it gets marketing mail'),
  explicit: z.boolean().describe('false: the contact has made no choice, so the default applies'),
  changedAt: Time.nullable().describe("Time of the contact's own choice"),
});

const example = exampleOf(ContactTopicAnswer);

export function presentContactTopic(topic: ContactTopic): z.input<typeof ContactTopicAnswer> {
  const { id, key, name, visibility, subscribed, explicit, changedAt } = topic;
  return {
    id,
    key,
    name,
    visibility: visibility as z.input<typeof Visibility>,
    subscribed,
    explicit,
    changedAt: time(changedAt),
  };
}

const listContactTopics = endpoint({
  id: 'listContactTopics',
  method: 'GET',
  path: '/contacts/{id}/topics',
  summary: 'List all topics with the choices of a contact',
  description:
    "These choices do not include the contact's `subscribed`: an unsubscribed contact gets " +
    'mail of no topic, and keeps its choices.',
  access: 'secret',
  params: ById,
  response: z.array(ContactTopicAnswer),
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: [example] },
  async handle({ db, caller, params: { id } }) {
    const contact = found('CONTACT', id, await findContact(db, caller.projectId, id));
    return (await listRows(db, contact)).map(presentContactTopic);
  },
});

const Choices = z
  .record(z.string(), z.boolean().nullable())
  .refine(
    (topics) => Object.keys(topics).length >= 1,
    fault('too_small', 'Must name at least one topic.'),
  )
  .refine(
    (topics) => Object.keys(topics).length <= limits.topics,
    fault('too_big', `Must name at most ${limits.topics} topics.`),
  )
  .describe('Choices by the keys of topics; null: back to the default');

const updateContactTopics = endpoint({
  id: 'updateContactTopics',
  method: 'PUT',
  path: '/contacts/{id}/topics',
  summary: 'Set the topic choices of a contact',
  description:
    'Topics that are left out keep their choice. Each change records an event ' +
    '`contact.topic.subscribed` or `contact.topic.unsubscribed`.',
  access: 'secret',
  params: ById,
  body: z.object({ topics: Choices }),
  response: z.array(ContactTopicAnswer),
  problems: ['CONTACT_NOT_FOUND'],
  example: { body: { topics: { 'product-news': true } }, response: [example] },
  async handle({ db, caller, request, params: { id }, body }) {
    const { projectId } = caller;
    const origin = { source: 'api' as const, ...evidenceOf(caller, request) };
    const topics = await transact(db, async (tx) => {
      const contact = found('CONTACT', id, await lockContact(tx, projectId, { id }));
      const choices = await chosenTopics(tx, projectId, body.topics);
      await recordTopicChoices(tx, contact, choices, { origin });
      return listRows(tx, contact);
    });
    return topics.map(presentContactTopic);
  },
});

/** Returns choices by topic id. @throws Problem VALIDATION_ERROR for unknown keys */
async function chosenTopics<Choice>(
  tx: Database,
  projectId: string,
  given: Readonly<Record<string, Choice>>,
): Promise<Map<string, Choice>> {
  const keys = Object.keys(given);
  const topics = await listTopicsByKey(tx, projectId, keys);
  const ids = new Map(topics.map(({ id, key }) => [key, id]));
  const refusals = new Refusals();
  const choices = keys.map((key): [string, Choice] => {
    const id = ids.get(key);
    if (!id) refusals.add(unknownTopic(`topics.${key}`, key));
    return [id ?? '', given[key] as Choice];
  });
  refusals.throw();
  return new Map(choices);
}

export const contactTopicEndpoints = [listContactTopics, updateContactTopics];
