import { findTimedSuppression } from '../suppression/marks.ts';
import { listContactTopics } from '../topics/choices.ts';
import type { Database } from '../database.ts';
import { listSecretHosts } from '../projects/secrets.ts';
import type { TimedSuppression } from '../../domain/mail/suppression.ts';
import { readContactHistory } from './contacts/history.ts';
import type { Condition } from '../../domain/filter/filter.ts';
import { findTemplateMail, type TemplateMail } from './step-mail.ts';

/**
 * Creates the functions by which a simulation reads the database for one contact, which need not
 * exist. Each template and each suppression is read once.
 */
export async function readsOfSimulation(db: Database, contact: { id: string; project_id: string }) {
  const { project_id: projectId } = contact;
  const templates = new Map<string, Promise<TemplateMail>>();
  const suppressions = new Map<string, Promise<TimedSuppression | null>>();
  const topics = await listContactTopics(db, contact);
  return {
    topics: new Map(topics.map(({ id, key, subscribed }) => [id, { id, key, subscribed }])),
    secrets: await listSecretHosts(db, projectId),
    findMail(templateId: string): Promise<TemplateMail> {
      const known = templates.get(templateId) ?? findTemplateMail(db, projectId, templateId);
      templates.set(templateId, known);
      return known;
    },
    readHistory: (conditions: readonly Condition[]) => readContactHistory(db, contact, conditions),
    findSuppression(address: string): Promise<TimedSuppression | null> {
      const known = suppressions.get(address) ?? findTimedSuppression(db, projectId, address);
      suppressions.set(address, known);
      return known;
    },
  };
}
