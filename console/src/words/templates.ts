import type { Template } from '../api/api.ts';

/** Message classes in words. */
export const messageTypes: Record<Template['type'], string> = {
  MARKETING: 'Marketing',
  TRANSACTIONAL: 'Transactional',
  HEADLESS: 'Headless',
};

/** Message classes with the people who get such mail. */
export const messageTypeOptions = [
  { value: 'MARKETING', text: 'Marketing: subscribed contacts, with a link to opt out' },
  { value: 'TRANSACTIONAL', text: 'Transactional: all contacts, without a link to opt out' },
  { value: 'HEADLESS', text: 'Headless: without a footer' },
] as const;
