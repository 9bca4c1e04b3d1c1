import { containsOptOutLink } from '../template/html.ts';

export type MessageClass = 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS';
export type SourceType = 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW';

/**
 * Whether mail of a class goes only to subscribed contacts. HEADLESS mail from a request is treated
 * like transactional mail; in campaigns and workflows like marketing.
 */
export function needsSubscription(messageClass: string, sourceType: string): boolean {
  if (messageClass === 'HEADLESS') return sourceType !== 'TRANSACTIONAL';
  return messageClass === 'MARKETING';
}

export interface Header {
  name: string;
  value: string;
}

export interface ClassHeadersInput {
  messageClass: MessageClass;
  sourceType: SourceType;
  /** The rendered HTML body. */
  body: string;
  contactId: string;
  unsubscribeUrl: string;
  /** Headers of the request; of two names that differ only in case, the last wins. */
  customHeaders?: Record<string, string> | null | undefined;
}

/**
 * The headers of a message class, followed by the custom ones.
 *  - One-click opt-out (RFC 8058): marketing always, other mail when its body has an opt-out link.
 *  - Bulk mail headers (RFC 3834), which suppress automatic replies: marketing and campaigns.
 * A custom header replaces a generated one of the same name in any case. `List-Unsubscribe` and
 * `List-Unsubscribe-Post` belong together, so giving one of them replaces both.
 */
export function classHeaders(input: ClassHeadersInput): Header[] {
  const { messageClass, sourceType, body, contactId, unsubscribeUrl, customHeaders } = input;
  const generated: Header[] = [];
  if (messageClass === 'MARKETING' || containsOptOutLink(body, contactId)) {
    generated.push(
      { name: 'List-Unsubscribe', value: `<${unsubscribeUrl}>` },
      { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
    );
  }
  if (messageClass === 'MARKETING' || sourceType === 'CAMPAIGN') {
    generated.push(
      { name: 'Precedence', value: 'bulk' },
      { name: 'Auto-Submitted', value: 'auto-generated' },
      { name: 'X-Auto-Response-Suppress', value: 'All' },
    );
  }
  const custom = new Map<string, Header>();
  for (const [name, value] of Object.entries(customHeaders ?? {})) {
    custom.set(name.toLowerCase(), { name, value });
  }
  const ownOptOut = custom.has('list-unsubscribe') || custom.has('list-unsubscribe-post');
  const kept = generated.filter(({ name }) => {
    const key = name.toLowerCase();
    return !custom.has(key) && !(ownOptOut && key.startsWith('list-unsubscribe'));
  });
  return [...kept, ...custom.values()];
}
