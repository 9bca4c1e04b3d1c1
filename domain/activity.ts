/** The types of items of the activity feed, in the order in which the API lists them. */
export const activityTypes = [
  'event.triggered',
  'contact.subscribed',
  'contact.unsubscribed',
  'email.sent',
  'email.delivered',
  'email.opened',
  'email.clicked',
  'email.bounced',
  'email.complaint',
  'email.received',
  'campaign.sent',
  'campaign.scheduled',
  'workflow.started',
  'workflow.completed',
  'workflow.email.scheduled',
  'workflow.waiting',
] as const;

export type ActivityType = (typeof activityTypes)[number];

/** Types of items that are still to come. Items of all other types have happened. */
export const upcomingTypes = [
  'campaign.scheduled',
  'workflow.email.scheduled',
  'workflow.waiting',
] as const satisfies readonly ActivityType[];

export type PastType = Exclude<ActivityType, (typeof upcomingTypes)[number]>;

export const pastTypes = activityTypes.filter((type): type is PastType => {
  const upcoming: readonly string[] = upcomingTypes;
  return !upcoming.includes(type);
});

/** The form of an item's id: the id of its row between a prefix and a suffix. */
export interface ItemForm {
  prefix: string;
  suffix: string;
}

/** The form of the ids, by item type. Types of future items are not included. */
export const itemForms: Readonly<Record<PastType, ItemForm>> = {
  'event.triggered': { prefix: '', suffix: '' },
  'contact.subscribed': { prefix: '', suffix: '' },
  'contact.unsubscribed': { prefix: '', suffix: '' },
  'email.sent': { prefix: '', suffix: '_sent' },
  'email.delivered': { prefix: '', suffix: '_delivered' },
  'email.opened': { prefix: '', suffix: '_opened' },
  'email.clicked': { prefix: '', suffix: '_clicked' },
  'email.bounced': { prefix: '', suffix: '_bounced' },
  'email.complaint': { prefix: '', suffix: '_complaint' },
  'email.received': { prefix: '', suffix: '_received' },
  'campaign.sent': { prefix: 'campaign_', suffix: '_sent' },
  'workflow.started': { prefix: '', suffix: '_started' },
  'workflow.completed': { prefix: '', suffix: '_completed' },
};

const itemId = /^(campaign_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(_[a-z]+)?$/;

export function isItemId(text: string): boolean {
  return itemId.test(text);
}

/** An upper bound of row ids; `inclusive`: the row with this id is within the bound. */
export interface RowBound {
  id: string;
  inclusive: boolean;
}

const noRow: RowBound = { id: '00000000-0000-0000-0000-000000000000', inclusive: false };
const everyRow: RowBound = { id: 'ffffffff-ffff-ffff-ffff-ffffffffffff', inclusive: true };
/** The bound of all row ids, as hexadecimal text, that sort before the word "campaign". */
const beforeCampaigns: RowBound = { id: 'caffffff-ffff-ffff-ffff-ffffffffffff', inclusive: true };

/**
 * Returns the bound of the row ids whose items sort before the item `id`, compared as texts. With
 * this bound, an index on the row ids finds a page that begins at any item.
 * @param id the id of an item; '': no item sorts before it
 */
export function rowsBefore({ prefix, suffix }: ItemForm, id: string): RowBound {
  if (id === '') return noRow;
  if (!id.startsWith(prefix)) return prefix < id ? everyRow : noRow;
  const rest = id.slice(prefix.length);
  if (rest.startsWith('campaign_')) return beforeCampaigns;
  return { id: rest.slice(0, 36), inclusive: suffix < rest.slice(36) };
}
