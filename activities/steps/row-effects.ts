import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { BillingRules } from '../../db/billing/billing.ts';
import { noEvidence } from '../../db/consent/log.ts';
import { type ContactRow, findContact } from '../../db/contacts/contacts.ts';
import { recordContact } from '../../db/transactions/contacts/record-contact.ts';
import type { Database } from '../../db/database.ts';
import { insertEmail } from '../../db/emails/emails.ts';
import { findProject } from '../../db/projects/projects.ts';
import { findSecrets } from '../../db/projects/secrets.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import { readContactHistory } from '../../db/reads/contacts/history.ts';
import { findStepMail } from '../../db/reads/step-mail.ts';
import { findLastClosing } from '../../db/workflows/executions/digests.ts';
import { rereadExitPending, type StepVisit } from '../../db/workflows/executions/steps.ts';
import { Problem } from '../../domain/errors.ts';
import type { Condition } from '../../domain/filter/filter.ts';
import { utmOf } from '../../domain/links/utm.ts';
import { localeOf, optOutUrls } from '../../domain/mail/content.ts';
import type { Renderer, TemplateVariables } from '../../domain/template/render.ts';
import type { FoundMail, StepEffects, StepMail } from '../../domain/workflow/steps/effects.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import type { Cipher } from '../../providers/encryption.ts';

/** Maximum number of milliseconds for each statement that reads the history of a contact. */
const historyMs = 5_000;
/** PostgreSQL's code of `query_canceled`. */
const statementTimeout = '57014';

export interface PlayServices {
  db: Database;
  apiUrl: string;
  renderer: Renderer;
  cipher: Cipher;
  /** null: billing is off. */
  billingRules: BillingRules;
}

interface ContactAndProject {
  contact: ContactRow;
  project: NonNullable<Awaited<ReturnType<typeof findProject>>>;
}

/**
 * The effects of a step on rows, inside the transaction that has begun the step. The id of the mail
 * is passed in: a restarted transaction needs the same id, because rendered texts contain it.
 */
export class RowEffects implements StepEffects {
  readonly renderer: Renderer;
  readonly isBilled: boolean;
  /**
   * The state of the execution and the step, read again when an event of the step itself may have
   * met an exit rule.
   */
  visit: StepVisit;
  readonly #tx: Database;
  readonly #services: PlayServices;
  readonly #emailId: string;
  #read: Promise<ContactAndProject> | undefined;

  constructor(tx: Database, visit: StepVisit, services: PlayServices, emailId: string) {
    this.renderer = services.renderer;
    this.isBilled = services.billingRules !== null;
    this.visit = visit;
    this.#tx = tx;
    this.#services = services;
    this.#emailId = emailId;
  }

  get beganAt(): Date {
    return this.visit.stepExecution.started_at;
  }

  get subject() {
    const { contact_id: contact, key } = this.visit.execution;
    return { contact, key };
  }

  now(): Date {
    return new Date();
  }

  async readScope() {
    const { project_id: projectId, contact_id: contactId } = this.visit.execution;
    const contact = required(await findContact(this.#tx, projectId, contactId));
    return {
      contact: { ...contact, createdAt: contact.created_at, updatedAt: contact.updated_at },
      context: this.#context(),
    };
  }

  /**
   * Reads the history within a time limit, because the customer's filters decide how much is read.
   * The rollback to the savepoint undoes only the time limit and an aborted statement.
   */
  async readHistory(conditions: readonly Condition[]) {
    const { project_id, contact_id: id } = this.visit.execution;
    await sql`savepoint read_history`.execute(this.#tx);
    await sql`select set_config('statement_timeout', ${String(historyMs)}, true)`.execute(this.#tx);
    try {
      return await readContactHistory(this.#tx, { id, project_id }, conditions);
    } catch (error) {
      if ((error as { code?: unknown }).code !== statementTimeout) throw error;
      throw new StepFailure(
        `Reading the history of the contact for these filters took longer than ${historyMs / 1_000} ` +
          'seconds. Use fewer filters, or a shorter time span.',
      );
    } finally {
      await sql`rollback to savepoint read_history`.execute(this.#tx);
    }
  }

  readZones() {
    return readSendPolicy(this.#tx, this.visit.execution.project_id);
  }

  findLastClosing(stepId: string) {
    return findLastClosing(this.#tx, this.visit.execution, stepId);
  }

  async readVariables() {
    const { execution, stepExecution } = this.visit;
    return {
      ...this.#variables(await this.#contactAndProject(), stepExecution.id),
      workflow: { id: execution.workflow_id, name: execution.workflow_name },
      execution: {
        id: execution.id,
        startedAt: execution.started_at.toISOString(),
        ...(execution.key !== null && { key: execution.key }),
      },
    };
  }

  async findMail(
    templateId: string | null,
    topicId: string | null | undefined,
  ): Promise<FoundMail> {
    const { project_id: projectId, contact_id: contactId } = this.visit.execution;
    const wanted = { projectId, contactId, templateId, topicId };
    const found = required(await findStepMail(this.#tx, wanted));
    return {
      ...found,
      utmOf: (step) =>
        utmOf(found.utm, {
          workflow: this.visit.execution.workflow_name,
          step,
          template: found.templateName,
        }),
      variables: (topicKey) => this.#variables(found, this.#emailId, topicKey),
    };
  }

  /**
   * Only stores the mail, because another run delivers it. So a slow provider never delays an
   * execution.
   */
  async sendMail(mail: StepMail): Promise<string> {
    const { execution, stepExecution } = this.visit;
    const { content, withheld, warnings } = mail;
    await insertEmail(this.#tx, {
      id: this.#emailId,
      project_id: execution.project_id,
      contact_id: execution.contact_id,
      to_email: mail.recipient.email,
      ...content,
      // A body that is too large to be sent is not stored either.
      body: withheld === 'message_too_large' ? null : content.body,
      from_email: mail.from.email,
      from_name: mail.from.name,
      reply_to: mail.replyTo,
      message_class: mail.messageClass,
      source_type: 'WORKFLOW',
      template_id: mail.templateId,
      topic_id: mail.topicId,
      workflow_execution_id: execution.id,
      workflow_step_execution_id: stepExecution.id,
      workflow_step_id: stepExecution.step_id,
      ...(withheld && { withheld }),
      renderedPlainly: warnings[0],
    });
    return this.#emailId;
  }

  async changeContact({ data, subscribed }: Parameters<StepEffects['changeContact']>[0]) {
    const { execution } = this.visit;
    const { contact } = await this.#contactAndProject();
    await sql`savepoint change_contact`.execute(this.#tx);
    try {
      const { contact: after } = await recordContact(this.#tx, execution.project_id, {
        email: contact.email,
        subscribed,
        subscribedWhenNew: contact.subscribed,
        data,
        origin: { ...noEvidence, source: 'workflow' },
        executionId: execution.id,
      });
      if (after.subscribed !== contact.subscribed) {
        this.visit = await rereadExitPending(this.#tx, this.visit);
      }
      return after;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      await sql`rollback to savepoint change_contact`.execute(this.#tx);
      throw new StepFailure(error.errors?.[0]?.message ?? error.message);
    }
  }

  /**
   * Returns an unguessable text that stands for secrets while a step is rendered. The text is
   * derived from the project's secret, so that a repeated step renders the same text.
   */
  async secretMark(): Promise<string> {
    return createHmac('sha256', await this.signingSecret())
      .update('mark of secrets')
      .digest('hex');
  }

  async signingSecret(): Promise<string> {
    const { project } = await this.#contactAndProject();
    return this.#services.cipher.decrypt(project.webhook_signing_secret);
  }

  async findSecrets(names: readonly string[]) {
    const sealed = await findSecrets(this.#tx, this.visit.execution.project_id, names);
    return sealed.map((secret) => ({
      ...secret,
      value: this.#services.cipher.decrypt(secret.value),
    }));
  }

  #contactAndProject(): Promise<ContactAndProject> {
    this.#read ??= this.#readContactAndProject();
    return this.#read;
  }

  async #readContactAndProject(): Promise<ContactAndProject> {
    const { project_id: projectId, contact_id: contactId } = this.visit.execution;
    const contact = required(await findContact(this.#tx, projectId, contactId));
    return { contact, project: required(await findProject(this.#tx, projectId)) };
  }

  #context(): Record<string, unknown> | null {
    return this.visit.execution.context as Record<string, unknown> | null;
  }

  /**
   * Returns the variables of texts.
   * @param emailId id of the mail that contains the opt-out links
   */
  #variables(
    { contact, project }: { contact: ContactRow; project: { id: string; language: string } },
    emailId: string,
    topicKey: string | null = null,
  ): TemplateVariables {
    return {
      owner: project.id,
      contact,
      context: this.#context(),
      locale: localeOf(contact.data, project.language),
      urls: optOutUrls(this.#services.apiUrl, contact.id, emailId, topicKey),
    };
  }
}

function required<T>(row: T | undefined): T {
  if (!row) throw new StepFailure('The contact was deleted, so this step cannot be done.');
  return row;
}
