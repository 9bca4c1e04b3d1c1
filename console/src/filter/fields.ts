import { useRead } from '../api/queries.ts';
import type { Option } from '../design/fields.tsx';
import { useProject } from '../shell/project.ts';
import type { JourneyFields } from './operators.ts';

/** Activities of mail in words. */
const activities: Record<string, string> = {
  sent: 'Mail was sent',
  delivered: 'Mail was delivered',
  opened: 'Mail was opened',
  humanOpened: 'Mail was opened by a person',
  clicked: 'Link was clicked',
  humanClicked: 'Link was clicked by a person',
  bounced: 'Mail bounced',
  complained: 'Mail was marked as spam',
};

export const activitiesOfAll: readonly Option[] = Object.entries(activities).map(
  ([value, text]) => ({ value, text }),
);

/** Activities of the mail of one campaign or template. */
export const activitiesOfOne: readonly Option[] = [
  ...activitiesOfAll,
  { value: 'unsubscribed', text: 'Unsubscribed by it' },
  { value: 'converted', text: 'Reached the goal' },
  { value: 'failed', text: 'Mail failed' },
  { value: 'withheld', text: 'Mail was withheld' },
];

const standard: readonly Option[] = [
  { value: 'email', text: 'Email', group: 'Contact' },
  { value: 'subscribed', text: 'Subscribed', group: 'Contact' },
  { value: 'createdAt', text: 'Created', group: 'Contact' },
  { value: 'updatedAt', text: 'Changed', group: 'Contact' },
];

/** Beginnings of field names. The user types or chooses the rest. */
export const otherData = 'data.';
const otherOfJourney = ['event.', 'context.'];
export const oneSource = ['campaign.', 'template.'] as const;

export interface Fields {
  options: readonly Option[];
  /** Types of data fields, by field. */
  types: ReadonlyMap<string, string>;
  /** Beginnings of field names such as `data.`. The user types the rest. */
  paths: readonly string[];
  /** Only for filters in a workflow, which can read more data than the contact's. */
  journey?: JourneyFields & {
    /** Fields that can take the place of a value in a comparison. */
    operands: readonly string[];
  };
}

/** The event that starts a workflow; undefined: no event starts it. */
export interface JourneyStart {
  eventName: string | undefined;
}

/** Returns the fields that only filters in a workflow can name. */
function useJourneyFields(journey: JourneyStart | undefined) {
  const { api, project } = useProject();
  const { eventName } = journey ?? {};
  const { data } = useRead(
    [project.id, 'workflows', 'fields', eventName ?? ''],
    () => api.get('/workflows/fields', { query: eventName ? { eventName } : {} }),
    { isEnabled: journey !== undefined },
  );
  const operands = data?.fields ?? [];
  return { operands, eventData: operands.filter((field) => field.startsWith('event.')) };
}

/**
 * The fields that a filter can name: of contacts, their events, their mail, and segments. A filter
 * in a workflow can also name the data of the starting event, and fields of the context.
 */
export function useFields(journey?: JourneyStart): Fields {
  const { api, project } = useProject();
  const data = useRead([project.id, 'contacts', 'fields'], () => api.get('/contacts/fields'));
  const events = useRead([project.id, 'events', 'names'], () => api.get('/events/names'));
  const segments = useRead([project.id, 'segments', 'all'], () => api.get('/segments'));
  const { operands, eventData } = useJourneyFields(journey);
  const eventNames = (events.data?.eventNames ?? []).map((name) => `event.${name}`);
  const own = (data.data?.fields ?? []).filter(({ field }) => field.startsWith('data.'));
  return {
    paths: journey ? [otherData, ...otherOfJourney] : [otherData],
    ...(journey && {
      journey: { operands, eventData: new Set(eventData), eventNames: new Set(eventNames) },
    }),
    types: new Map(own.map(({ field, type }) => [field, type])),
    options: [
      ...standard,
      ...own.map(({ field }) => ({ value: field, text: field.slice(5), group: 'Data' })),
      { value: otherData, text: 'Another data field…', group: 'Data' },
      ...(journey ? journeyOptions(eventData.filter((one) => !eventNames.includes(one))) : []),
      ...eventNames.map((value) => ({
        value,
        text: value.slice('event.'.length),
        group: 'Events',
      })),
      ...activitiesOfAll.map(({ value, text }) => ({
        value: `email.${value}`,
        text,
        group: 'Mail',
      })),
      { value: 'campaign.', text: 'Mail of one campaign…', group: 'Mail' },
      { value: 'template.', text: 'Mail of one template…', group: 'Mail' },
      ...(segments.data ?? []).map(({ id, name }) => ({
        value: `segment.${id}`,
        text: name,
        group: 'Segments',
      })),
    ],
  };
}

const journeyOptions = (eventData: readonly string[]): Option[] => [
  ...eventData.map((value) => ({ value, text: value, group: 'Starting event' })),
  { value: 'event.', text: 'Another field of the event…', group: 'Starting event' },
  { value: 'context.', text: 'Field of the context…', group: 'Starting event' },
];

/** The values that contacts have in a field, the most frequent first. */
export function useKnownValues(field: string): readonly (string | number | boolean)[] {
  const { api, project } = useProject();
  const known = useRead(
    [project.id, 'contacts', 'values', field],
    () => api.get('/contacts/fields/{field}/values', { path: { field }, query: { limit: 50 } }),
    { isEnabled: field.startsWith('data.') && field !== otherData },
  );
  return known.data?.field === field ? known.data.values : [];
}
