import { getMySecurityEvents } from '../../../security-events/security-events.ts';
import { html } from '../../../html/html.ts';
import { accountPage, askMine } from '../../account-page.ts';
import { detailText, further, heading, moment, section, table } from '../../parts.ts';

/** A user's own security events. */
export const showEvents = accountPage({
  id: 'showMyEvents',
  path: '/events',
  summary: 'Logins and changes of your account',
  async show(call) {
    const { cursor } = call.query;
    const query = { limit: '50', ...(cursor && { cursor }) };
    const { data: events } = await askMine(call, getMySecurityEvents, { query });
    const rows = events.data.map(({ at, event, details, ip }) => [
      moment(at),
      html`<code>${event}</code>`,
      detailText(details),
      ip,
    ]);
    return {
      title: 'Logins and changes',
      content: () =>
        html`${heading('Logins and changes', html`<a href="/console/account">Your account</a>`)}
        ${section(
          'Newest first',
          html`${table(['Time', 'Event', 'Details', 'Address'], rows, 'No events.')}
          ${further(events.cursor)}`,
        )}`,
    };
  },
});
