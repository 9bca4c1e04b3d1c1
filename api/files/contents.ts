import { setImmediate } from 'node:timers/promises';
import { readConsentPolicy } from '../../db/consent/policy.ts';
import type { Database } from '../../db/database.ts';
import { type FileObject, findFileKeys } from '../../db/files/objects.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import { readSegments } from '../../db/segments/segments.ts';
import { readSubscriptions } from '../../db/subscriptions/subscriptions.ts';
import { readTemplates } from '../../db/templates/templates.ts';
import { readTopics } from '../../db/topics/topics.ts';
import { findDrawing } from '../../db/workflows/drawing.ts';
import { readWorkflows } from '../../db/workflows/workflows.ts';
import { type FileFormat, type FileKind } from '../../domain/files/kinds.ts';
import type { FileKeys } from '../../domain/files/references.ts';
import {
  consentPolicyFile,
  headerInFile,
  hiddenHeaders,
  type HiddenValues,
  segmentFile,
  sendPolicyFile,
  subscriptionFile,
  templateFile,
  topicFile,
  workflowFile,
} from '../../domain/files/values.ts';
import { objectText } from '../../domain/files/write.ts';
import { shownConfig } from '../../domain/secrets/in-templates.ts';
import type { Services } from '../services/services.ts';
import { presentStart } from '../workflows/graph/starts.ts';
import { triggerConfig } from '../workflows/graph/record.ts';

/** Reads stored objects in the form of files. */

/** Number of objects that are read at once. */
const pageSize = 10;

export type Reader = {
  db: Database;
  projectId: string;
} & Pick<Services, 'cipher'>;

type Fields = Record<string, unknown>;

/** A stored object in the form of a file. */
export interface StoredFile {
  object: FileObject;
  /** The fields of the file. A template also has `body`. */
  value: Fields;
  /** The values that are hidden in `value`. */
  hidden: HiddenValues;
}

/** A stored object whose references are still ids. */
interface Content {
  /** Null for policies. */
  id: string | null;
  /** The stored values, in which ids are looked for. */
  stored: unknown;
  value: (keys: FileKeys) => Fields;
  hidden?: HiddenValues;
}

const readers: Readonly<
  Record<FileKind, (reader: Reader, ids: readonly string[]) => Promise<Content[]>>
> = {
  async workflow({ db }, ids) {
    const contents: Content[] = [];
    for (const row of await readWorkflows(db, ids)) {
      const drawn = await findDrawing(db, row);
      const shown = {
        ...drawn,
        steps: drawn.steps.map((step) => ({
          ...step,
          config: shownConfig(step.config, headerInFile),
        })),
      };
      const config = triggerConfig(row);
      const { name, description, enabled, execution_key: executionKey } = row;
      const { reentry } = presentStart(row);
      const content = {
        name,
        description,
        enabled,
        executionKey,
        reentry,
        triggerConfig: config,
        drawn: shown,
      };
      const hidden = drawn.steps.flatMap((step, index) => {
        const place = `steps.${step.key}.config.headers`;
        const headers = shown.steps[index]?.config['headers'];
        return hiddenHeaders(place, step.config['headers'], headers);
      });
      contents.push({
        id: row.id,
        stored: content,
        value: (keys) => workflowFile(content, keys),
        hidden: new Map(hidden),
      });
    }
    return contents;
  },
  async template({ db }, ids) {
    const rows = await readTemplates(db, ids);
    return rows.map(({ id, body, ...row }) => {
      const { name, subject, type, description } = row;
      const { from_email: from, from_name: fromName, reply_to: replyTo, topic_id: topicId } = row;
      const content = { name, subject, type, description, from, fromName, replyTo, topicId };
      return {
        id,
        stored: topicId,
        value: (keys) => ({ ...templateFile(content, keys), body }),
      };
    });
  },
  async segment({ db }, ids) {
    const rows = await readSegments(db, ids);
    return rows.map(({ id, name, description, type, condition, ...row }) => {
      const { track_membership: trackMembership } = row;
      const content = { name, description, type, condition, trackMembership };
      return { id, stored: condition, value: (keys) => segmentFile(content, keys) };
    });
  },
  async topic({ db }, ids) {
    const rows = await readTopics(db, ids);
    return rows.map(({ id, name, description, visibility, by_default: isDefault }) => {
      const value = isDefault ? 'subscribed' : 'unsubscribed';
      const content = topicFile({ name, description, visibility, default: value });
      return { id, stored: null, value: () => content };
    });
  },
  async 'event-subscription'({ db, cipher }, ids) {
    const rows = await readSubscriptions(db, ids);
    return rows.map(({ id, url, events, description, headers, batch_max: batchMax, enabled }) => {
      const written = headers
        ? (JSON.parse(cipher.decrypt(headers)) as Record<string, string>)
        : {};
      const content = { url, events, description, headers: written, batchMax, enabled };
      const value = subscriptionFile(content);
      const hidden = new Map(hiddenHeaders('headers', written, value['headers']));
      return { id, stored: null, value: () => value, hidden };
    });
  },
  async 'send-policy'({ db, projectId }) {
    const policy = await readSendPolicy(db, projectId);
    return [{ id: null, stored: null, value: () => sendPolicyFile(policy) }];
  },
  async 'consent-policy'({ db, projectId }) {
    const policy = await readConsentPolicy(db, projectId);
    return [{ id: null, stored: policy, value: (keys) => consentPolicyFile(policy, keys) }];
  },
};

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Yields stored objects in the form of files, in their order, one at a time, so that other requests
 * can run in between.
 */
export async function* readStoredFiles(
  reader: Reader,
  objects: readonly FileObject[],
): AsyncGenerator<StoredFile> {
  for (let at = 0; at < objects.length;) {
    const { kind } = objects[at]!;
    const page = objects.slice(at, at + pageSize).filter((object) => object.kind === kind);
    at += page.length;
    const contents = await readers[kind](
      reader,
      page.flatMap(({ id }) => id ?? []),
    );
    const ids = JSON.stringify(contents.map(({ stored }) => stored)).match(uuids) ?? [];
    const keys = await findFileKeys(reader.db, reader.projectId, [...new Set(ids)]);
    const known = new Map(contents.map((content) => [content.id, content]));
    for (const object of page) {
      const content = known.get(object.id);
      // The object was deleted in the meantime.
      if (!content) continue;
      const { value, hidden = new Map() } = content;
      yield { object, value: value(keys), hidden };
      await setImmediate();
    }
  }
}

/** Returns the text of a stored object's file. */
export function textOf({ object, value }: StoredFile, format: FileFormat): string {
  return objectText(object.kind, value, format);
}
