import type { ActivityItem } from '../../api/api.ts';

/** Types of activity in words. */
export const activityTypes: Record<ActivityItem['type'], string> = {
  'event.triggered': 'Events',
  'contact.subscribed': 'Subscriptions',
  'contact.unsubscribed': 'Unsubscriptions',
  'email.sent': 'Mail sent',
  'email.delivered': 'Mail delivered',
  'email.opened': 'Mail opened',
  'email.clicked': 'Mail clicked',
  'email.bounced': 'Mail bounced',
  'email.complaint': 'Complaints',
  'email.received': 'Mail received',
  'campaign.sent': 'Campaigns sent',
  'campaign.scheduled': 'Campaigns to come',
  'workflow.started': 'Workflows started',
  'workflow.completed': 'Workflows ended',
  'workflow.email.scheduled': 'Workflow mail to come',
  'workflow.waiting': 'Waits in workflows',
};

/** Types of planned activity. The feed of past activity does not list these types. */
export const upcomingTypes: readonly ActivityItem['type'][] = [
  'campaign.scheduled',
  'workflow.email.scheduled',
  'workflow.waiting',
];

/** The words between the address of a contact and the subject of a mail. */
export const activityVerbs: Partial<Record<ActivityItem['type'], string>> = {
  'email.sent': 'was sent',
  'email.delivered': 'got',
  'email.opened': 'opened',
  'email.clicked': 'clicked a link in',
  'email.bounced': 'could not be reached by',
  'email.complaint': 'marked as spam',
  'email.received': 'wrote',
};
