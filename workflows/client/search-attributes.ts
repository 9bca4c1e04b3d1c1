import type { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Temporal } from './connection.ts';

/**
 * Search attributes for operators in the Temporal UI. They are not encrypted, so they contain ids
 * and the names of projects, workflows and steps, but no personal data.
 */

export const projectKey = defineSearchAttributeKey('ProjectId', SearchAttributeType.KEYWORD);
export const contactKey = defineSearchAttributeKey('ContactId', SearchAttributeType.KEYWORD);
export const workflowKey = defineSearchAttributeKey(
  'CustomerWorkflowId',
  SearchAttributeType.KEYWORD,
);
export const statusKey = defineSearchAttributeKey(
  'CustomerWorkflowStatus',
  SearchAttributeType.KEYWORD,
);

export const projectNameKey = defineSearchAttributeKey('ProjectName', SearchAttributeType.KEYWORD);
export const workflowNameKey = defineSearchAttributeKey(
  'WorkflowName',
  SearchAttributeType.KEYWORD,
);

const executionKeyKey = defineSearchAttributeKey('ExecutionKey', SearchAttributeType.KEYWORD);

/**
 * Returns the search attribute for the key of an execution. Only a key that looks like an id is
 * sent to Temporal, because any other key may be personal data.
 */
export function executionKey(key: string | null) {
  const isId = key !== null && /^[A-Za-z0-9._:-]{1,64}$/.test(key);
  return isId ? [{ key: executionKeyKey, value: key }] : [];
}

const keys = [
  projectKey,
  contactKey,
  workflowKey,
  statusKey,
  projectNameKey,
  workflowNameKey,
  executionKeyKey,
];

/** `FailedStep` is set only by workflow code, so no key is declared for it here. */
const names = [...keys.map((key) => key.name), 'FailedStep'];

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keywordType = 2;

/** Returns true if Temporal answers, and its namespace has the search attributes of Everpost. */
export async function isTemporalReady({ client, answers }: Temporal): Promise<boolean> {
  if (!(await answers())) return false;
  return (await listMissing(client).catch(() => names)).length === 0;
}

async function listMissing(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const { operatorService } = client.connection as Connection;
  const known = await operatorService.listSearchAttributes({ namespace });
  return names.filter((name) => !Object.hasOwn(known.customAttributes ?? {}, name));
}

/**
 * Makes sure the namespace has the search attributes of Everpost.
 * @throws Error that names the missing attributes, if this client must not add them (Temporal
 * Cloud)
 */
export async function ensureSearchAttributes(client: Client): Promise<void> {
  const { namespace } = client.options;
  const { operatorService } = client.connection as Connection;
  const missing = await listMissing(client);
  if (missing.length === 0) return;
  try {
    await operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
    });
  } catch (error) {
    throw new Error(
      `Add these search attributes of type Keyword to the Temporal namespace ${namespace}: ${missing.join(', ')}.`,
      { cause: error },
    );
  }
}
