import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ActivityItem } from '../../api/api.ts';
import { useProject } from '../../shell/project.ts';
import { activityVerbs } from '../../words/operations/activity.ts';
import { executionStates } from '../../words/operations/execution.ts';
import { counted } from '../../words/numbers.ts';

/** An item of the activity in a sentence, with links to the objects that the sentence names. */
export function ActivitySentence({ item }: { item: ActivityItem }) {
  const { type, id, metadata } = item;
  const text = (key: string) => (typeof metadata[key] === 'string' ? metadata[key] : '');
  const who = <Who item={item} />;
  const workflow = <strong>{text('workflowName')}</strong>;
  const campaign = (
    <To page={`campaigns/${/^campaign_(.+)_/.exec(id)?.[1]}`}>{text('campaignName')}</To>
  );
  switch (type) {
    case 'event.triggered':
      return (
        <>
          {who}: event{' '}
          <To page={`events?event=${encodeURIComponent(text('eventName'))}`}>
            {text('eventName')}
          </To>
        </>
      );
    case 'contact.subscribed':
      return <>{who} subscribed</>;
    case 'contact.unsubscribed':
      return <>{who} unsubscribed</>;
    case 'campaign.sent':
      return (
        <>
          Campaign {campaign} was sent to {recipients(metadata)}
        </>
      );
    case 'campaign.scheduled':
      return <>Campaign {campaign} begins</>;
    case 'workflow.started':
      return (
        <>
          {who} entered {workflow}
        </>
      );
    case 'workflow.completed':
      return (
        <>
          {who} is at the end of {workflow}: {endText(text('status'), text('exitReason'))}
        </>
      );
    case 'workflow.email.scheduled':
      return (
        <>
          {who} gets <em>{text('subject') || text('stepName')}</em> of {workflow}
        </>
      );
    case 'workflow.waiting':
      return (
        <>
          {who} goes on in {workflow}, at {text('stepName')}
        </>
      );
    default:
      return (
        <>
          {who} {activityVerbs[type]}{' '}
          <To page={`emails/${id.split('_')[0]}`}>{text('subject') || '(no subject)'}</To>
          {text('error') && `: ${text('error')}`}
        </>
      );
  }
}

const recipients = ({ totalRecipients }: ActivityItem['metadata']) =>
  counted(typeof totalRecipients === 'number' ? totalRecipients : 0, 'contact');

function endText(status: string, exitReason: string): string {
  const state = executionStates[status as keyof typeof executionStates]?.text ?? status;
  return exitReason && exitReason !== status.toLowerCase()
    ? `${state.toLowerCase()}, ${exitReason}`
    : state.toLowerCase();
}

function Who({ item: { contactId, contactEmail } }: { item: ActivityItem }) {
  if (contactEmail === undefined) return 'No contact';
  return contactId === undefined ? (
    <strong>{contactEmail}</strong>
  ) : (
    <To page={`contacts/${contactId}`}>{contactEmail}</To>
  );
}

function To({ page, children }: { page: string; children: ReactNode }) {
  const { path } = useProject();
  const [to = '', query] = path(page).split('?');
  return (
    <Link to={to} search={Object.fromEntries(new URLSearchParams(query))}>
      {children}
    </Link>
  );
}
