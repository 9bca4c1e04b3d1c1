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
import { type FileFormat, type FileKind, filePathOf } from '../../domain/files/kinds.ts';
import type { FileKeys } from '../../domain/files/references.ts';
import {
  consentPolicyFile,
  segmentFile,
  sendPolicyFile,
  subscriptionFile,
  templateFile,
  topicFile,
  workflowFile,
} from '../../domain/files/values.ts';
import { fileText, templateText } from '../../domain/files/write.ts';
import { shownConfig } from '../../domain/secrets/in-templates.ts';
import type { Services } from '../services/services.ts';
import { presentStart } from '../workflows/graph/starts.ts';
import { triggerConfig } from '../workflows/graph/record.ts';

/** Reads objects, and writes them as files. */

/** Number of objects that are read at once. */
const pageSize = 10;

type Reader = {
  db: Database;
  projectId: string;
} & Pick<Services, 'cipher'>;

/** The content of a file whose references are still ids. */
interface Content {
  /** The stored values, in which ids are looked for. */
  stored: unknown;
  text: (keys: FileKeys, format: FileFormat) => string;
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
        steps: drawn.steps.map((step) => ({ ...step, config: shownConfig(step.config) })),
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
      contents.push({
        stored: content,
        text: (keys, format) => fileText(workflowFile(content, keys), format),
      });
    }
    return contents;
  },
  async template({ db }, ids) {
    const rows = await readTemplates(db, ids);
    return rows.map(({ body, ...row }) => {
      const { name, subject, type, description } = row;
      const { from_email: from, from_name: fromName, reply_to: replyTo, topic_id: topicId } = row;
      const content = { name, subject, type, description, from, fromName, replyTo, topicId };
      return { stored: topicId, text: (keys) => templateText(templateFile(content, keys), body) };
    });
  },
  async segment({ db }, ids) {
    const rows = await readSegments(db, ids);
    return rows.map(({ name, description, type, condition, track_membership: trackMembership }) => {
      const content = { name, description, type, condition, trackMembership };
      return {
        stored: condition,
        text: (keys, format) => fileText(segmentFile(content, keys), format),
      };
    });
  },
  async topic({ db }, ids) {
    const rows = await readTopics(db, ids);
    return rows.map(({ name, description, visibility, by_default: isDefault }) => {
      const value = isDefault ? 'subscribed' : 'unsubscribed';
      const content = topicFile({ name, description, visibility, default: value });
      return { stored: null, text: (_, format) => fileText(content, format) };
    });
  },
  async 'event-subscription'({ db, cipher }, ids) {
    const rows = await readSubscriptions(db, ids);
    return rows.map(({ url, events, description, headers, batch_max: batchMax, enabled }) => {
      const written = headers
        ? (JSON.parse(cipher.decrypt(headers)) as Record<string, string>)
        : {};
      const content = { url, events, description, headers: written, batchMax, enabled };
      return { stored: null, text: (_, format) => fileText(subscriptionFile(content), format) };
    });
  },
  async 'send-policy'({ db, projectId }) {
    const policy = await readSendPolicy(db, projectId);
    return [{ stored: null, text: (_, format) => fileText(sendPolicyFile(policy), format) }];
  },
  async 'consent-policy'({ db, projectId }) {
    const policy = await readConsentPolicy(db, projectId);
    return [
      { stored: policy, text: (keys, format) => fileText(consentPolicyFile(policy, keys), format) },
    ];
  },
};

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Yields the files of objects, in their order, one at a time, so that other requests can run in
 * between.
 */
export async function* readFileTexts(
  reader: Reader,
  objects: readonly FileObject[],
  format: FileFormat,
): AsyncGenerator<{ object: FileObject; path: string; text: string }> {
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
    for (const [index, object] of page.entries()) {
      const path = filePathOf(kind, object.key, format);
      yield { object, path, text: contents[index]!.text(keys, format) };
      await setImmediate();
    }
  }
}
