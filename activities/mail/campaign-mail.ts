import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BillingRules } from '../../db/billing/billing.ts';
import type { CampaignEmail } from '../../db/transactions/mail/claim-campaign-mail.ts';
import { findCampaignContent, insertBodyTemplate } from '../../db/campaigns/emails.ts';
import type { Database } from '../../db/database.ts';
import { escapeHtml, wrapDocument } from '../../domain/template/html.ts';
import { isBodyTooLarge, localeOf, optOutUrls, renderMailWith } from '../../domain/mail/content.ts';
import { dateOf } from '../../domain/outcomes/hold.ts';
import { limits } from '../../domain/limits.ts';
import { type Utm, type UtmValues, utmOf, withUtm } from '../../domain/links/utm.ts';
import {
  type MailSkeleton,
  type SampleRecipient,
  type Slot,
  type SlotValues,
  type TextTemplate,
  interpolate,
  linkTarget,
  mailSkeleton,
  skeletonKey,
  slotValues,
} from '../../domain/mail/skeleton.ts';
import {
  type CompiledTemplate,
  type Rendered,
  type Renderer,
  type TemplateVariables,
  compileTemplate,
  renderIfCheap,
} from '../../domain/template/render.ts';
import { faultWarnings } from '../../domain/template/warnings.ts';
import { clickSignatureText, trackingLinks, withTracking } from '../../domain/links/tracking.ts';
import { composeMessage, textFromHtml } from '../../providers/mail/mime.ts';
import { type MessageSkeleton, encodeSkeleton } from '../../providers/mail/mime-skeleton.ts';
import { BodyTooLarge, type Composed, type Tracking } from './batches/batch.ts';

export interface ComposerServices {
  db: Database;
  apiUrl: string;
  renderer: Renderer;
  /** null: billing is off. */
  billingRules: BillingRules;
}

/** The prepared content of a campaign, from which messages are composed. */
interface Prepared {
  subject: CompiledTemplate;
  body: CompiledTemplate;
  /** Key of the campaign's topic; null: none. */
  topicKey: string | null;
  utm: Utm | null;
  sampleRecipient: SampleRecipient;
  /**
   * Skeletons (messages with slots for the values of a recipient), by the values that they depend
   * on, such as the language.
   */
  skeletons: LRUCache<string, KnownSkeleton>;
}

interface KnownSkeleton {
  /** null: no skeleton can be made from this content. */
  making: Promise<Skeleton | null>;
  /** The skeleton once `making` has resolved; null before. */
  made: Skeleton | null;
}

interface Skeleton {
  mail: MailSkeleton;
  sampleRecipient: SampleRecipient;
  message: MessageSkeleton;
  /** Id of the stored body template. */
  bodyTemplate: string;
}

/** Maximum number of cached contents. Each campaign that is being sent needs one. */
const contentsMax = 20;
/**
 * Maximum number of cached skeletons per content. A few suffice, because many recipients share a
 * language.
 */
const skeletonsMax = 20;

/**
 * Composes the messages of campaigns. Parts that all messages of a campaign share are made only
 * once.
 */
export function createCampaignComposer(services: ComposerServices) {
  const contents = new LRUCache<string, Prepared>({ max: contentsMax });

  async function contentOf(
    campaignId: string,
    { content_version: version, content_arm: arm }: CampaignEmail,
  ): Promise<Prepared> {
    const key = `${campaignId} ${version} ${arm}`;
    const known = contents.get(key);
    if (known) return known;
    const content = await findCampaignContent(services.db, campaignId, { version, arm });
    if (!content)
      throw new Error(`The campaign ${campaignId} has no content of version ${version} ${arm}.`);
    const prepared = {
      subject: compileTemplate(content.subject),
      body: compileTemplate(content.body),
      topicKey: content.topicKey,
      utm: utmOf(
        { values: content.utm as UtmValues | null, hosts: content.utmHosts },
        { campaign: content.campaignName, template: content.templateName, arm },
      ),
      sampleRecipient: {
        contactId: randomUUID(),
        emailId: randomUUID(),
        mark: randomBytes(16).toString('hex'),
      },
      skeletons: new LRUCache<string, KnownSkeleton>({ max: skeletonsMax }),
    };
    contents.set(key, prepared);
    return prepared;
  }

  return {
    /**
     * Loads the parts that messages of one version and arm (variant of an A/B test) share. Returns
     * a function that composes one message.
     */
    async prepare(campaignId: string, emails: readonly CampaignEmail[]) {
      const prepared = await contentOf(campaignId, emails[0]!);
      return (email: CampaignEmail, tracking: Tracking | null) => {
        const recipient = { campaignId, ...recipientOf(services, prepared, email, tracking) };
        return composeAtOnce(prepared, recipient) ?? compose(services, prepared, recipient);
      };
    },
  };
}

/** A message to compose. */
interface Recipient {
  campaignId: string;
  email: CampaignEmail;
  tracking: Tracking | null;
  variables: TemplateVariables;
  hasBadge: boolean;
}

function recipientOf(
  { apiUrl, billingRules }: ComposerServices,
  { topicKey }: Prepared,
  email: CampaignEmail,
  tracking: Tracking | null,
): Omit<Recipient, 'campaignId'> {
  const { contact_data: data } = email;
  const contact = {
    id: email.contact_id,
    email: email.contact_email,
    subscribed: email.contact_subscribed,
    data,
  };
  return {
    email,
    tracking,
    variables: {
      owner: email.project_id,
      contact,
      locale: localeOf(data, email.project_language),
      urls: optOutUrls(apiUrl, contact.id, email.id, topicKey),
    },
    hasBadge: email.has_badge && billingRules !== null,
  };
}

/**
 * Composes a message synchronously, as nearly all messages can be, because promises would cost as
 * much as the rendering. Returns undefined when there is no skeleton yet, when the skeleton does
 * not suffice, or when a value is costly to render.
 */
function composeAtOnce(prepared: Prepared, recipient: Recipient): Composed | undefined {
  const skeleton = prepared.skeletons.get(keyOf(recipient))?.made;
  if (!skeleton) return undefined;
  const { variables } = recipient;
  const [subject] = renderIfCheap('subject', [prepared.subject], variables) ?? [];
  const [rendered] = renderIfCheap('slots', [skeleton.mail.values], variables) ?? [];
  if (!subject || !rendered) return undefined;
  return composeBySkeleton(skeleton, prepared, recipient, { subject, rendered });
}

async function compose(
  services: ComposerServices,
  prepared: Prepared,
  recipient: Recipient,
): Promise<Composed> {
  const skeleton = await skeletonFor(services, prepared, recipient);
  if (skeleton) {
    const { renderer } = services;
    const { variables } = recipient;
    const [subject, rendered] = await Promise.all([
      renderer.render('subject', prepared.subject, variables),
      renderer.render('slots', skeleton.mail.values, variables),
    ]);
    const composed = composeBySkeleton(skeleton, prepared, recipient, { subject, rendered });
    if (composed) return composed;
  }
  return composeWhole(services, prepared, recipient);
}

/**
 * Composes a message from the shared skeleton. Returns undefined when the skeleton does not
 * suffice.
 * @param given.rendered the values, rendered from `MailSkeleton.values`
 */
function composeBySkeleton(
  skeleton: Skeleton,
  { sampleRecipient }: Prepared,
  { email, tracking }: Recipient,
  { subject, rendered }: { subject: Rendered; rendered: Rendered },
): Composed | undefined {
  // The caller then renders the whole message, which gives the fault its place in the template.
  if (rendered.fault) return undefined;
  const values = slotValues(skeleton.mail, sampleRecipient, email.contact_id, rendered.text);
  if (!values) return undefined;
  if (isFilledTooLarge(skeleton.mail.body, values)) {
    throw new BodyTooLarge('The rendered body exceeds the size limit.');
  }
  const ids = { contactId: email.contact_id, emailId: email.id };
  const links = tracking ? trackingOf(skeleton.mail, ids, values, tracking) : [];
  if (!links) return undefined;
  const raw = skeleton.message.messageFor({
    contactId: ids.contactId,
    emailId: ids.emailId,
    to: email.to_email,
    subject: subject.text,
    date: dateOf(email, new Date()),
    html: (slot) => values.html[slot] ?? links[slot] ?? '',
    text: (slot) => values.text[slot] ?? '',
  });
  const headers = email.message_class === 'MARKETING' ? undefined : headersFor(skeleton, ids);
  return {
    raw,
    content: {
      subject: subject.text,
      bodyTemplate: skeleton.bodyTemplate,
      values: values.html,
      headers,
      renderedPlainly: subject.fault
        ? faultWarnings({ subject: subject.fault, body: null })[0]
        : undefined,
    },
  };
}

/**
 * Returns true if the body with these values is too large. The body is put together only if the
 * estimate of three bytes (in UTF-8) for each character is too large.
 */
function isFilledTooLarge(body: TextTemplate, values: SlotValues): boolean {
  const valueOf = (slot: Slot) => (typeof slot === 'number' ? (values.html[slot] ?? '') : sampleId);
  let chars = 0;
  for (const text of body.texts) chars += text.length;
  for (const slot of body.slots) chars += valueOf(slot).length;
  if (chars * 3 <= limits.renderedBodyBytes) return false;
  return chars > limits.renderedBodyBytes || isBodyTooLarge(interpolate(body, valueOf));
}

/** A stand-in for an id, with the same length. */
const sampleId = randomUUID();

function skeletonFor(
  services: ComposerServices,
  prepared: Prepared,
  recipient: Recipient,
): Promise<Skeleton | null> {
  const { skeletons } = prepared;
  const key = keyOf(recipient);
  const known = skeletons.get(key);
  if (known) return known.making;
  const making = makeSkeleton(services, prepared, recipient).then(
    (made) => (skeleton.made = made),
    (error: unknown) => {
      skeletons.delete(key);
      throw error;
    },
  );
  const skeleton: KnownSkeleton = { making, made: null };
  skeletons.set(key, skeleton);
  return making;
}

function keyOf({ tracking, variables: { locale }, hasBadge }: Recipient): string {
  return skeletonKey({ locale, hasBadge, trackingUrl: tracking?.apiUrl ?? null });
}

async function makeSkeleton(
  { db, apiUrl }: ComposerServices,
  { body, topicKey, utm, sampleRecipient }: Prepared,
  { campaignId, email, tracking, variables: { locale }, hasBadge }: Recipient,
): Promise<Skeleton | null> {
  const mail = mailSkeleton({
    template: body,
    messageClass: email.message_class,
    locale,
    hasBadge,
    trackingUrl: tracking?.apiUrl ?? null,
    apiUrl,
    topicKey,
    sampleRecipient,
    textOf: textFromHtml,
    utm,
  });
  if (!mail) return null;
  const from = { name: email.from_name, address: email.from_email };
  const owner = { projectId: email.project_id, campaignId };
  return {
    mail,
    sampleRecipient,
    message: encodeSkeleton(mail, { from, replyTo: email.reply_to, sampleRecipient }),
    bodyTemplate: await insertBodyTemplate(db, owner, mail.body),
  };
}

function headersFor(
  { mail: { headers }, sampleRecipient }: Skeleton,
  ids: { contactId: string; emailId: string },
) {
  return headers.map(({ name, value }) => ({
    name,
    value: value
      .replaceAll(sampleRecipient.contactId, ids.contactId)
      .replaceAll(sampleRecipient.emailId, ids.emailId),
  }));
}

/**
 * Returns the values for the gaps (slots) of the skeleton in the pixel and the tracked links, by slot
 * number. A value is a signature, which needs no escaping, or a whole URL as HTML. null: the URL of a
 * link cannot be filled in.
 */
function trackingOf(
  mail: MailSkeleton,
  ids: { contactId: string; emailId: string },
  values: SlotValues,
  { apiUrl, sign }: Tracking,
): string[] | null {
  const { emailId } = ids;
  const filled: string[] = [];
  filled[mail.pixel] = sign(emailId);
  for (const [number, link] of mail.fixedLinks)
    filled[number] = sign(clickSignatureText(emailId, link));
  for (const [number, link] of mail.links) {
    const target = linkTarget(link.target, ids, values);
    if (target === null) return null;
    filled[number] = escapeHtml(trackingLinks(apiUrl, emailId, sign).clickUrl({ ...link, target }));
  }
  return filled;
}

/** Composes a whole message for one recipient, without a skeleton. */
async function composeWhole(
  { renderer }: ComposerServices,
  prepared: Prepared,
  { email, tracking, variables, hasBadge }: Recipient,
): Promise<Composed> {
  const { content, warnings } = await renderMailWith(renderer, {
    subject: prepared.subject,
    body: prepared.body,
    messageClass: email.message_class,
    sourceType: 'CAMPAIGN',
    variables,
    hasBadge,
  });
  const mail = withUtm(content, prepared.utm);
  if (isBodyTooLarge(mail.body)) {
    throw new BodyTooLarge('The rendered body exceeds the size limit.');
  }
  const html = wrapDocument(mail.body, variables.locale);
  const raw = await composeMessage({
    emailId: email.id,
    date: dateOf(email, new Date()),
    from: { name: email.from_name, address: email.from_email },
    to: { name: null, address: email.to_email },
    replyTo: email.reply_to,
    subject: mail.subject,
    html: tracking
      ? withTracking(html, trackingLinks(tracking.apiUrl, email.id, tracking.sign), mail.link_ids)
      : html,
    text: textFromHtml(html),
    headers: mail.headers,
    attachments: [],
  });
  const headers = email.message_class === 'MARKETING' ? undefined : mail.headers;
  const [renderedPlainly] = warnings;
  return { raw, content: { subject: mail.subject, body: mail.body, headers, renderedPlainly } };
}
