import { randomBytes } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';
import { type BillingRules, takeAllowance } from '../db/billing/billing.ts';
import {
  expireOptIn,
  findOptInMail,
  type LockedOptIn,
  lockOptIn,
  setNextReconcile,
  noteOptInMail,
  type OptInMailSource,
} from '../db/transactions/contacts/run-opt-in.ts';
import { type Database, transact } from '../db/database.ts';
import { insertEmail } from '../db/emails/emails.ts';
import { confirmUrl, hasConfirmLink, maskConfirmLinks } from '../domain/consent/confirm-link.ts';
import { nextOptInStep } from '../domain/consent/opt-in.ts';
import { builtInMail, optInTexts } from '../domain/consent/opt-in-texts.ts';
import { Problem } from '../domain/errors.ts';
import {
  completeMail,
  isBodyTooLarge,
  localeOf,
  optOutUrls,
  renderMailWith,
} from '../domain/mail/content.ts';
import { compileTemplate, type Renderer } from '../domain/template/render.ts';
import type { TemplateWarning } from '../domain/template/warnings.ts';

export type OptInActivities = ReturnType<typeof createOptInActivities>;

/** The next thing that an open request waits for. */
export interface OptInRest {
  waitMs: number;
  next: 'mail' | 'reminder' | 'end';
}

export interface OptInServices {
  db: Database;
  apiUrl: string;
  renderer: Renderer;
  /** null: billing is off. */
  billingRules: BillingRules;
}

export function createOptInActivities(services: OptInServices) {
  return {
    /**
     * Advances an opt-in request: creates its mail or its reminder, or ends it. Returns what is due
     * next, and when; null: the request has ended.
     */
    async ADVANCE_OPT_IN(requestId: string): Promise<OptInRest | null> {
      for (;;) {
        const rest = await advance(services, requestId);
        if (rest === null || rest.waitMs > 0) return rest;
      }
    },
  };
}

/** Advances the request by one step, in one transaction. */
function advance(services: OptInServices, requestId: string): Promise<OptInRest | null> {
  return transact(services.db, async (tx): Promise<OptInRest | null> => {
    const locked = await lockOptIn(tx, requestId);
    if (!locked) return null;
    const { request, now } = locked;
    const step = nextOptInStep(request, now);
    if (step.kind === 'expire') {
      await expireOptIn(tx, request);
      return null;
    }
    if (step.kind === 'wait') {
      await setNextReconcile(tx, request, step.until);
      return { waitMs: Math.max(step.until.getTime() - now.getTime(), 1), next: step.what };
    }
    const isMade = await insertOptInMail(tx, services, locked);
    await noteOptInMail(tx, request, { isReminder: step.kind === 'remind', isMade });
    return { waitMs: 0, next: 'end' };
  });
}

/**
 * Creates the mail of a locked request. Returns false when neither its template nor its project has
 * a sender any more.
 */
async function insertOptInMail(
  tx: Database,
  services: OptInServices,
  { request, contact }: LockedOptIn,
): Promise<boolean> {
  const source = await findOptInMail(tx, request);
  const { project, template } = source;
  const from = template?.from ?? project.from;
  if (from === null) return false;
  const name = template?.from ? template.fromName : project.fromName;
  const emailId = uuidV7();
  const { content, usesTemplate, warnings } = await composeMail(services, source, {
    contact,
    emailId,
    isOfMail: request.of_mail,
  });
  const withheld = source.isVerified
    ? await takeShare(tx, services.billingRules, project.id)
    : { withheld: 'domain_not_verified' as const };
  await insertEmail(tx, {
    id: emailId,
    project_id: project.id,
    contact_id: contact.id,
    to_email: contact.email,
    subject: content.subject,
    body: content.body,
    // No opt-out link is needed, because a request that is not confirmed expires and subscribes to
    // nothing.
    headers: [],
    from_email: from,
    from_name: name ?? project.name,
    reply_to: template?.replyTo ?? null,
    message_class: 'TRANSACTIONAL',
    source_type: 'TRANSACTIONAL',
    template_id: usesTemplate && template ? template.id : null,
    opt_in_id: request.id,
    caused_by: request.asked_by,
    renderedPlainly: warnings[0],
    ...withheld,
  });
  return true;
}

/**
 * Counts the mail against the project's limit. If the limit is reached, the mail is stored as
 * failed.
 */
async function takeShare(
  tx: Database,
  rules: BillingRules,
  projectId: string,
): Promise<{ allowance_month: string | null } | { withheld: 'billing_limit' }> {
  try {
    const share = { projectId, category: 'transactional' as const, units: 1 };
    return { allowance_month: await takeAllowance(tx, rules, share) };
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'BILLING_LIMIT_EXCEEDED') throw error;
    return { withheld: 'billing_limit' };
  }
}

/**
 * Composes a confirmation mail whose link contains a placeholder, which the token replaces when the
 * mail is sent.
 */
async function composeMail(
  { apiUrl, renderer, billingRules }: OptInServices,
  { project, template, topics }: OptInMailSource,
  mail: { contact: LockedOptIn['contact']; emailId: string; isOfMail: boolean },
): Promise<{
  content: { subject: string; body: string };
  usesTemplate: boolean;
  warnings: TemplateWarning[];
}> {
  const { contact, emailId, isOfMail } = mail;
  // The placeholder is as long as a token, and random, so it occurs only in the link of this mail.
  const placeholder = randomBytes(32).toString('hex');
  const url = confirmUrl(apiUrl, placeholder);
  const masked = ({ subject, body }: { subject: string; body: string }) => ({
    subject: maskConfirmLinks(subject, placeholder),
    body: maskConfirmLinks(body, placeholder),
  });
  const shared = {
    messageClass: 'TRANSACTIONAL' as const,
    sourceType: 'TRANSACTIONAL' as const,
    hasBadge: billingRules !== null && project.subscription === null,
    variables: {
      owner: project.id,
      contact,
      locale: localeOf(contact.data, project.language),
      urls: optOutUrls(apiUrl, contact.id, emailId),
      optIn: { confirmUrl: url, confirmTopics: topics },
    },
  };
  if (template) {
    const { content, warnings } = await renderMailWith(renderer, {
      ...shared,
      subject: compileTemplate(template.subject),
      body: compileTemplate(template.body),
    });
    if (hasConfirmLink(content.body, placeholder) && !isBodyTooLarge(content.body)) {
      return { content: masked(content), usesTemplate: true, warnings };
    }
  }
  const texts = optInTexts(shared.variables.locale);
  const { subject, body } = builtInMail(texts, { project: project.name, isOfMail, topics, url });
  const content = completeMail(shared, subject, body);
  return { content: masked(content), usesTemplate: false, warnings: [] };
}
