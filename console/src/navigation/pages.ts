/** The pages in the navigations, as paths in a project with their names. */

/** The navigation `Main`. */
export const sections = [
  ['', 'Overview'],
  ['contacts', 'Contacts'],
  ['segments', 'Segments'],
  ['templates', 'Templates'],
  ['campaigns', 'Campaigns'],
  ['workflows', 'Workflows'],
  ['failures', 'Failures'],
  ['emails', 'Emails'],
  ['events', 'Events'],
  ['activity', 'Activity'],
  ['settings', 'Settings'],
] as const;

/** The navigation `Settings`. */
export const settingPages = [
  ['settings', 'Project'],
  ['settings/keys', 'API keys'],
  ['settings/domains', 'Domains'],
  ['settings/members', 'Members'],
  ['settings/topics', 'Topics'],
  ['settings/consent', 'Consent'],
  ['settings/send-policy', 'Send policy'],
  ['settings/suppression', 'Suppression list'],
  ['settings/subscriptions', 'Event subscriptions'],
  ['settings/secrets', 'Secrets'],
  ['settings/billing', 'Billing'],
] as const;
