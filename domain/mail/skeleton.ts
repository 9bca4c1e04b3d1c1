import { escapeHtml, primaryLanguage, wrapDocument } from '../template/html.ts';
import { completeMail, optOutUrls } from './content.ts';
import { CompiledTemplate } from '../template/render.ts';
import { readTemplate } from '../template/source.ts';
import { withMarkedLinks } from '../links/link-ids.ts';
import {
  trackedCharsMax,
  type TrackedLink,
  trackingLinks,
  withLinks,
  withTracking,
} from '../links/tracking.ts';
import { type Utm, withUtm } from '../links/utm.ts';
import type { Header, MessageClass } from './headers.ts';

/**
 * The parts that all messages of a campaign share. One message is composed for a sample recipient;
 * replacing the sample's values then gives the message for any recipient. Composing each message
 * separately would cost ten times as much.
 */

/** An invented recipient. All its texts are letters, digits and `-`, and occur nowhere else. */
export interface SampleRecipient {
  /** A uuid, as `emailId` is. */
  contactId: string;
  emailId: string;
  /** A text that is part of the token of each placeholder. */
  mark: string;
}

/**
 * The content of a slot. A number stands for the value of a placeholder, for the signature of the
 * pixel or of a tracked link, or for the whole URL of a tracked link that contains a value.
 */
export type Slot = 'contactId' | 'emailId' | number;

/** A text with slots between its pieces, so there is one piece more than slots. */
export interface TextTemplate {
  texts: string[];
  slots: Slot[];
}

/** A tracked link whose target contains values. */
export interface FilledLink extends Omit<TrackedLink, 'target'> {
  target: TextTemplate;
}

export interface MailSkeleton {
  /** A template that renders to the values of all placeholders, separated by the mark. */
  values: CompiledTemplate;
  /** The body as it is stored. */
  body: TextTemplate;
  /** The document as it is sent, and its plain text. */
  html: TextTemplate;
  text: TextTemplate;
  /** The number of the slot with the pixel's signature. */
  pixel: number;
  /**
   * The tracked links that are the same for all recipients, by the slot number of their signature.
   */
  fixedLinks: Map<number, TrackedLink>;
  /** The tracked links whose target contains values, by the slot number of their URL. */
  links: Map<number, FilledLink>;
  /** Headers with the ids of the sample recipient. */
  headers: Header[];
  /**
   * True if a link contains a value. The plain text shows a link with an empty value in another
   * form, so such a message is composed separately.
   */
  hasValuesInLinks: boolean;
  /**
   * Numbers of the values that must be plain characters, because a UTM parameter follows them in a
   * URL.
   */
  plainSlots: readonly number[];
}

/**
 * Maximum number of characters of the HTML. The plain text of a longer document is cut (`cutHtml`),
 * so a slot could be lost.
 */
const htmlCharsMax = 400_000;

/**
 * Builds the skeleton of a mail. Returns null when each message must be composed separately, for
 * example because its template has more than plain placeholders.
 * @param mail.textOf makes the text part of a document.
 * @param mail.utm UTM parameters of the links; null: there are none.
 */
export function mailSkeleton(mail: {
  template: CompiledTemplate;
  messageClass: MessageClass;
  locale: string;
  hasBadge: boolean;
  /** Base URL of the pixel and of tracked links; null: no tracking. */
  trackingUrl: string | null;
  apiUrl: string;
  /** Key of the campaign's topic; null: none. */
  topicKey: string | null;
  sampleRecipient: SampleRecipient;
  textOf: (html: string) => string;
  utm: Utm | null;
}): MailSkeleton | null {
  const { template, sampleRecipient, locale } = mail;
  const { contactId, emailId } = sampleRecipient;
  const urls = optOutUrls(mail.apiUrl, contactId, emailId, mail.topicKey);
  const read = readPlaceholders(withMarkedLinks(template), sampleRecipient, urls);
  if (!read) return null;
  const { headers, ...content } = completeMail(
    {
      messageClass: mail.messageClass,
      sourceType: 'CAMPAIGN',
      hasBadge: mail.hasBadge,
      variables: {
        contact: { id: contactId, email: '', subscribed: true, data: null },
        locale,
        urls,
      },
    },
    '',
    read.rendered,
  );
  const plainSlots = mail.utm ? slotsBeforeUtm(content.body, sampleRecipient, read.count) : [];
  if (!plainSlots) return null;
  const { body, link_ids: linkIds } = withUtm(content, mail.utm);
  const html = wrapDocument(body, locale);
  if (html.length > htmlCharsMax) return null;
  const toTemplate = (text: string) => textTemplate(text, sampleRecipient);
  const pixel = read.count;
  const fixedLinks = new Map<number, TrackedLink>();
  const links = new Map<number, FilledLink>();
  const linksSignedBy = (slot: number) =>
    trackingLinks(mail.trackingUrl ?? '', emailId, () => tokenOf(slot, sampleRecipient));
  const isTracked = mail.trackingUrl !== null;
  const tracked = isTracked
    ? withTracking(
        html,
        {
          pixelUrl: linksSignedBy(pixel).pixelUrl,
          clickUrl(link) {
            const number = pixel + 1 + fixedLinks.size + links.size;
            const target = toTemplate(link.target);
            if (target.slots.length === 0) {
              fixedLinks.set(number, link);
              return linksSignedBy(number).clickUrl(link);
            }
            links.set(number, { ...link, target });
            return tokenOf(number, sampleRecipient);
          },
        },
        linkIds,
      )
    : html;
  if (isTracked && hasValueInAddress(tracked, sampleRecipient, read.count)) return null;
  return {
    values: read.values,
    body: toTemplate(body),
    html: toTemplate(tracked),
    text: toTemplate(mail.textOf(html)),
    pixel,
    fixedLinks,
    links,
    headers,
    hasValuesInLinks: hasValuesInLinks(html, sampleRecipient),
    plainSlots,
  };
}

/**
 * Returns the numbers of the values in links that may get UTM parameters. Returns null if a value
 * is in the host of a link or in the name of a parameter, because this value decides whether the
 * link gets parameters.
 */
function slotsBeforeUtm(
  html: string,
  sampleRecipient: SampleRecipient,
  count: number,
): number[] | null {
  const numbers: number[] = [];
  let isDecided = true;
  const others = withLinks(html, (target) => {
    const { texts, slots } = textTemplate(target, sampleRecipient);
    let before = '';
    for (const [index, slot] of slots.entries()) {
      before += texts[index] ?? '';
      if (typeof slot === 'number') {
        numbers.push(slot);
        isDecided &&= isInPathOrValue(before);
      }
      before += 'x';
    }
    return '';
  });
  if (!isDecided || hasValueInAddress(others, sampleRecipient, count)) return null;
  return numbers;
}

/**
 * Returns true if a value after this beginning of a URL is in its path, in the value of a parameter
 * or in its fragment.
 */
function isInPathOrValue(before: string): boolean {
  const [, afterHost = ''] = /^https?:\/\/[^/?#]*(.*)$/is.exec(before) ?? [];
  if (afterHost === '') return false;
  const query = afterHost.indexOf('?');
  if (query < 0 || afterHost.includes('#')) return true;
  const parameter = afterHost.slice(Math.max(query, afterHost.lastIndexOf('&')));
  return parameter.includes('=');
}

/** Returns true if a link contains a value, in its tag or in its text. */
function hasValuesInLinks(html: string, { mark }: SampleRecipient): boolean {
  // Each piece except the last ends before the end tag of a link.
  const pieces = html.split(/<\/a/i).slice(0, -1);
  return pieces.some((piece) => {
    const start = piece.search(/<a\b/i);
    return start >= 0 && piece.includes(mark, start);
  });
}

/**
 * Returns true if the URL of an untracked link contains a value. With another value, this link
 * might have to be tracked.
 */
function hasValueInAddress(html: string, sampleRecipient: SampleRecipient, count: number): boolean {
  const hasValue = (text: string): boolean =>
    textTemplate(text, sampleRecipient).slots.some(
      (slot) => typeof slot === 'number' && slot < count,
    );
  let isAddress = false;
  // A URL ends at a quote or a bracket. A URL in quotes is the piece after the one that ends in
  // `href=`. A URL without quotes is in the same piece as its `href=`.
  return html.split(/["'>]/).some((piece) => {
    const start = isAddress ? 0 : piece.search(/href\s*=/i);
    isAddress = /href\s*=\s*$/i.test(piece);
    return start >= 0 && hasValue(piece.slice(start));
  });
}

/** Returns a cache key. Mails of one content with the same key share a skeleton. */
export function skeletonKey(mail: {
  locale: string;
  hasBadge: boolean;
  trackingUrl: string | null;
}): string {
  return `${primaryLanguage(mail.locale)} ${mail.hasBadge} ${mail.trackingUrl}`;
}

/** Returns the token for a value with this number. HTML, text and URLs keep the token unchanged. */
function tokenOf(number: number, { mark }: SampleRecipient): string {
  return `v${number}v${mark}`;
}

/** Replaces the placeholders by tokens; null: the template has more than plain placeholders. */
function readPlaceholders(
  template: CompiledTemplate,
  sampleRecipient: SampleRecipient,
  urls: ReturnType<typeof optOutUrls>,
) {
  if (template.weight === Infinity || template.nodes === null) return null;
  const system: Record<string, string> = {
    id: sampleRecipient.contactId,
    svc_id: sampleRecipient.contactId,
    unsubscribeUrl: escapeHtml(urls.unsubscribeUrl),
    subscribeUrl: escapeHtml(urls.subscribeUrl),
    manageUrl: escapeHtml(urls.manageUrl),
  };
  const placeholders: string[] = [];
  let rendered = '';
  for (const piece of readTemplate(template.source)) {
    const { written, liquid, path } = piece;
    if (!path) {
      if (/\{[{%]/.test(written)) return null;
      rendered += written;
      continue;
    }
    // A dash strips the white space around the placeholder.
    if (/^\{\{-|-\}\}$/.test(liquid)) return null;
    // A fallback belongs to the template, so the renderer does not escape it. Values in slots are
    // escaped.
    if (/[&<>"'{]/.test(piece.fallback ?? '')) return null;
    const [name = '', ...inside] = path;
    const known = inside.length === 0 && Object.hasOwn(system, name) ? system[name] : undefined;
    if (known !== undefined) {
      rendered += known;
      continue;
    }
    const number = placeholders.includes(written)
      ? placeholders.indexOf(written)
      : placeholders.push(written) - 1;
    rendered += tokenOf(number, sampleRecipient);
  }
  const values = new CompiledTemplate(placeholders.join(sampleRecipient.mark));
  return { rendered, values, count: placeholders.length };
}

function textTemplate(text: string, { contactId, emailId, mark }: SampleRecipient): TextTemplate {
  const texts: string[] = [];
  const slots: Slot[] = [];
  let done = 0;
  // Safe regex: all three parts have only letters, digits and `-`.
  for (const match of text.matchAll(new RegExp(`${contactId}|${emailId}|v(\\d+)v${mark}`, 'g'))) {
    texts.push(text.slice(done, match.index));
    done = match.index + match[0].length;
    const [found, number] = match;
    slots.push(number ? Number(number) : found === contactId ? 'contactId' : 'emailId');
  }
  texts.push(text.slice(done));
  return { texts, slots };
}

/** The values for one recipient, by number, both as HTML and as text. */
export interface SlotValues {
  html: string[];
  text: string[];
}

/**
 * Reads the rendered placeholders. Returns null when the message must be composed separately: if a
 * value is a list or an object, if a value contains the recipient's opt-out link (which changes the
 * headers), or if an empty value is in a link.
 * @param rendered the values of the skeleton, rendered as slots
 */
export function slotValues(
  { values, hasValuesInLinks, plainSlots }: MailSkeleton,
  { mark }: SampleRecipient,
  contactId: string,
  rendered: string,
): SlotValues | null {
  if (values.source === '') return { html: [], text: [] };
  const texts = rendered.split(mark);
  if (texts.length !== values.source.split(mark).length) return null;
  const isPlain = texts.every(
    (value) =>
      !value.includes('<li>') &&
      !value.startsWith('{') &&
      !value.includes(contactId) &&
      !(hasValuesInLinks && value.trim() === ''),
  );
  if (!isPlain || !plainSlots.every((slot) => plainInAddress.test(texts[slot] ?? ''))) return null;
  return {
    html: texts.map((value) => (/[&<>"']/.test(value) ? escapeHtml(value) : value)),
    text: texts.map((value) => (/\s/.test(value) ? value.replace(/\s+/g, ' ') : value)),
  };
}

/** Characters that need no escaping in a text, in HTML and in a URL. */
const plainInAddress = /^[\w.@+-]*$/;

/**
 * Returns the URL of a tracked link for one recipient; null when a value in it is not plain, or
 * makes the URL too long to track.
 */
export function linkTarget(
  target: TextTemplate,
  ids: { contactId: string; emailId: string },
  values: SlotValues,
): string | null {
  let address = target.texts[0] ?? '';
  for (const [index, slot] of target.slots.entries()) {
    const value = typeof slot === 'number' ? (values.text[slot] ?? '') : ids[slot];
    if (!plainInAddress.test(value)) return null;
    address += value + (target.texts[index + 1] ?? '');
  }
  return address.length > trackedCharsMax ? null : address;
}

export function interpolate(
  { texts, slots }: TextTemplate,
  valueOf: (slot: Slot) => string,
): string {
  let text = texts[0] ?? '';
  for (const [index, slot] of slots.entries()) text += valueOf(slot) + (texts[index + 1] ?? '');
  return text;
}
