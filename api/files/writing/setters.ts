import { columnsFrom } from '../../../db/columns.ts';
import { lockSegment } from '../../../db/segments/segments.ts';
import { lockTemplate } from '../../../db/templates/templates.ts';
import { updateTopic } from '../../../db/topics/topics.ts';
import { deleteSubscription } from '../../../db/transactions/subscriptions/change-subscription.ts';
import { lockWorkflows } from '../../../db/workflows/workflows.ts';
import { found } from '../../../domain/errors.ts';
import type { FileKind } from '../../../domain/files/kinds.ts';
import { storeConsentPolicy } from '../../consent/policy.ts';
import { storeSendPolicy } from '../../projects/send-policy.ts';
import { deleteUnusedSegment, storeNewSegment, storeSegment } from '../../segments/changes.ts';
import { refuseBadReferences } from '../../segments/conditions.ts';
import { givenCondition } from '../../segments/input.ts';
import { storeNewSubscription, storeSubscription } from '../../subscriptions/changes.ts';
import { refuseAddress } from '../../subscriptions/settings.ts';
import { deleteUnusedTemplates, storeNewTemplate, storeTemplate } from '../../templates/changes.ts';
import { deleteUnusedTopic, storeNewTopic } from '../../topics/changes.ts';
import { requireTopics } from '../../topics/references.ts';
import { deleteIdleWorkflows, replaceWorkflow, storeNewWorkflow } from '../../workflows/changes.ts';
import type { GivenWriting } from '../changes.ts';
import type { FileRequest } from '../reading/requests.ts';

/** Stores the object of a file, by the same steps as the object's own endpoints. */

/** The bodies of the requests that files make. */
export type Bodies = { [Kind in FileKind]: Extract<FileRequest, { kind: Kind }>['body'] };

export interface Writing extends GivenWriting {
  /** Number of topics that are deleted later in the transaction. */
  leavingTopics: number;
}

/** Each returns the version of a workflow that it has stored. */
export interface Setter<Body> {
  create: (writing: Writing, body: Body, id: string) => Promise<number | void>;
  update: (writing: Writing, body: Body, id: string) => Promise<number | void>;
  /** Policies are never deleted. */
  delete?: (writing: Writing, id: string) => Promise<void>;
}

const workflow: Setter<Bodies['workflow']> = {
  async create({ tx, projectId, causedBy, broken }, { enabled, ...graph }, id) {
    const body = { name: graph.name ?? '', graph, enabled };
    const { row } = await storeNewWorkflow(tx, projectId, body, { id, path: [], causedBy, broken });
    return row.version;
  },
  async update({ tx, projectId, causedBy, broken }, { enabled, ...graph }, id) {
    const [row] = await lockWorkflows(tx, projectId, [id], { for: 'edit' });
    const locked = found('WORKFLOW', id, row);
    const after = await replaceWorkflow(tx, locked, { graph, enabled }, { causedBy, broken });
    return after.version;
  },
  delete: ({ tx, projectId }, id) => deleteIdleWorkflows(tx, projectId, [id]),
};

const template: Setter<Bodies['template']> = {
  async create({ tx, projectId }, body, id) {
    await storeNewTemplate(tx, projectId, body, { id });
  },
  async update({ tx, projectId }, body, id) {
    const before = found('TEMPLATE', id, await lockTemplate(tx, projectId, id));
    await requireTopics(tx, projectId, [body.topicId]);
    await storeTemplate(tx, before, body);
  },
  delete: ({ tx, projectId }, id) => deleteUnusedTemplates(tx, projectId, [id]),
};

const segment: Setter<Bodies['segment']> = {
  async create({ tx, projectId }, body, id) {
    await storeNewSegment(tx, projectId, body, { id });
  },
  async update({ tx, projectId }, body, id) {
    const locked = found('SEGMENT', id, await lockSegment(tx, projectId, id, { for: 'edit' }));
    await refuseBadReferences(tx, projectId, givenCondition(body), id);
    await storeSegment(tx, locked, body, null);
  },
  delete: ({ tx, projectId }, id) => deleteUnusedSegment(tx, projectId, id),
};

const topic: Setter<Bodies['topic']> = {
  async create({ tx, projectId, leavingTopics: leaving }, body, id) {
    await storeNewTopic(tx, projectId, body, { id, leaving });
  },
  async update({ tx, projectId }, { name, description, visibility }, id) {
    const columns = columnsFrom({ name, description, visibility });
    found('TOPIC', id, await updateTopic(tx, projectId, id, columns));
  },
  delete: ({ tx, projectId }, id) => deleteUnusedTopic(tx, projectId, id),
};

const subscription: Setter<Bodies['event-subscription']> = {
  async create({ tx, projectId, cipher, causedBy, webhooks }, body, id) {
    refuseAddress(webhooks, body.url);
    await storeNewSubscription({ tx, projectId, cipher }, body, { id, causedBy });
  },
  async update({ tx, projectId, cipher, webhooks }, body, id) {
    const { before } = await storeSubscription({ tx, projectId, cipher }, id, body);
    if (body.url !== before.url) refuseAddress(webhooks, body.url);
  },
  async delete({ tx, projectId }, id) {
    await deleteSubscription(tx, projectId, id);
  },
};

const sendPolicy: Setter<Bodies['send-policy']> = {
  create: (writing, body) => putSendPolicy(writing, body),
  update: (writing, body) => putSendPolicy(writing, body),
};

async function putSendPolicy({ tx, projectId }: Writing, body: Bodies['send-policy']) {
  await storeSendPolicy(tx, projectId, body);
}

const consentPolicy: Setter<Bodies['consent-policy']> = {
  create: (writing, body) => putConsentPolicy(writing, body),
  update: (writing, body) => putConsentPolicy(writing, body),
};

async function putConsentPolicy({ tx, projectId }: Writing, body: Bodies['consent-policy']) {
  await storeConsentPolicy(tx, projectId, body);
}

export const setters: { readonly [Kind in FileKind]: Setter<Bodies[Kind]> } = {
  workflow,
  template,
  segment,
  topic,
  'event-subscription': subscription,
  'send-policy': sendPolicy,
  'consent-policy': consentPolicy,
};
