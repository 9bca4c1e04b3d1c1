import { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import { transact } from '../../db/database.ts';
import { completeRemoval } from '../../db/removals/removals.ts';
import {
  findTopic,
  listTopics as listRows,
  lockTopic,
  updateTopic as updateRow,
} from '../../db/topics/topics.ts';
import { changesBetween } from '../access/changes.ts';
import { found, invalidField, Refusals } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { Description, Name, ById } from '../http/schemas.ts';
import { deleteUnusedTopic, storeNewTopic } from './changes.ts';
import { Default, NewTopic, Visibility } from './input.ts';
import { presentTopic, Topic, topicExample } from './record.ts';

/**
 * Milliseconds for which `DELETE /topics/{id}` itself deletes the contacts' choices about the
 * topic. The periodic sweep deletes the remaining choices.
 */
const deletingMs = 5_000;

const listTopics = endpoint({
  id: 'listTopics',
  method: 'GET',
  path: '/topics',
  summary: 'List the topics, oldest first: the kinds of marketing mail that contacts can choose',
  description: 'The preference page shows the public ones in this order.',
  access: 'secret',
  response: z.array(Topic),
  example: { response: [topicExample] },
  async handle({ db, caller }) {
    return (await listRows(db, caller.projectId)).map((row) => presentTopic(row, caller.project));
  },
});

const createTopic = endpoint({
  id: 'createTopic',
  method: 'POST',
  path: '/topics',
  summary: 'Create a topic',
  description:
    '`key` is used in links and requests, and `default` applies to contacts that have made ' +
    'no choice. Neither can be changed later. TOPIC_EXISTS: the project has a topic with ' +
    'this key. TOPIC_LIMIT: it has 100 topics already.',
  access: 'secret',
  status: 201,
  body: NewTopic,
  response: Topic,
  problems: ['TOPIC_EXISTS', 'TOPIC_LIMIT'],
  example: {
    body: { key: 'product-news', name: 'Product news', default: 'unsubscribed' },
    response: topicExample,
  },
  async handle({ db, keyUse, note, caller: { projectId, project }, body }) {
    return transact(db, async (tx) => {
      const row = await storeNewTopic(tx, projectId, body);
      const target = { type: 'topic', id: row.id };
      await note({ event: 'topic.created', projectId, target }, tx);
      const answer = presentTopic(row, project);
      await keyUse?.completeIn(tx, answer);
      return answer;
    });
  },
});

const getTopic = endpoint({
  id: 'getTopic',
  method: 'GET',
  path: '/topics/{id}',
  summary: 'Get one topic',
  description: 'TOPIC_NOT_FOUND: there is no such topic in the project.',
  access: 'secret',
  params: ById,
  response: Topic,
  problems: ['TOPIC_NOT_FOUND'],
  example: { response: topicExample },
  async handle({ db, caller, params: { id } }) {
    return presentTopic(
      found('TOPIC', id, await findTopic(db, caller.projectId, id)),
      caller.project,
    );
  },
});

const updateTopic = endpoint({
  id: 'updateTopic',
  method: 'PATCH',
  path: '/topics/{id}',
  summary: 'Change the name, description or visibility of a topic',
  description:
    'Fields that are left out keep their value. `key` and `default` never change: the ' +
    'current value is accepted, any other is refused with the field code `not_allowed`.',
  access: 'secret',
  params: ById,
  body: z
    .object({
      key: z.string(),
      name: Name,
      description: Description,
      visibility: Visibility,
      default: Default,
    })
    .partial(),
  response: Topic,
  problems: ['TOPIC_NOT_FOUND'],
  example: { body: { visibility: 'public' }, response: topicExample },
  async check({ db, caller: { projectId, project }, params: { id }, body }) {
    const stored = presentTopic(found('TOPIC', id, await findTopic(db, projectId, id)), project);
    const refusals = new Refusals();
    for (const field of ['key', 'default'] as const) {
      const given = body[field];
      if (given === undefined || given === stored[field]) continue;
      refusals.add(
        invalidField(
          field,
          'not_allowed',
          `The ${field} of a topic cannot be changed. Leave it out.`,
          given,
        ),
      );
    }
    refusals.throw();
  },
  async handle({ db, caller: { projectId, project }, params: { id }, body, note }) {
    const { key: _, default: _d, ...fields } = body;
    const columns = columnsFrom(fields);
    return transact(db, async (tx) => {
      const before = presentTopic(found('TOPIC', id, await lockTopic(tx, projectId, id)), project);
      if (Object.keys(columns).length === 0) return before;
      const row = found('TOPIC', id, await updateRow(tx, projectId, id, columns));
      const after = presentTopic(row, project);
      const target = { type: 'topic', id };
      const changes = changesBetween(before, after, { fields: Object.keys(fields) });
      await note({ event: 'topic.changed', projectId, target, changes }, tx);
      return after;
    });
  },
});

const deleteTopic = endpoint({
  id: 'deleteTopic',
  method: 'DELETE',
  path: '/topics/{id}',
  summary: 'Delete a topic, with the choices of contacts',
  description:
    'The consent log stays, and so does mail that was sent. TOPIC_IN_USE: `details` lists ' +
    'the templates, workflow steps and unsent campaigns with this topic.',
  access: 'secret',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['TOPIC_NOT_FOUND', 'TOPIC_IN_USE'],
  async handle({ db, caller: { projectId }, params: { id }, note }) {
    const until = Date.now() + deletingMs;
    await transact(db, async (tx) => {
      await deleteUnusedTopic(tx, projectId, id);
      await note({ event: 'topic.deleted', projectId, target: { type: 'topic', id } }, tx);
    });
    await completeRemoval(db, id, () => Date.now() > until);
  },
});

export const topicEndpoints = [listTopics, createTopic, getTopic, updateTopic, deleteTopic];
