import { sections, settingPages } from '../../navigation/pages.ts';

/** The pages of a project that the search finds by name. */
export const foundPages: readonly (readonly [page: string, name: string])[] = [
  ...sections,
  ['contacts/import', 'Import contacts'],
  ['segments/new', 'New segment'],
  ['templates/new', 'New template'],
  ['campaigns/new', 'New campaign'],
  ['workflows/new', 'New workflow'],
  ['start', 'Get started'],
  // Not every server has billing.
  ...settingPages.filter(([page]) => page !== 'settings/billing'),
  ['settings/marketing', 'Hold-out and links'],
  ['settings/files', 'Uploaded files'],
];
