import type { z } from 'zod';
import { cancelCampaign, pauseCampaign, resumeCampaign } from '../../campaigns/actions.ts';
import { getCampaign, listCampaigns } from '../../campaigns/campaigns.ts';
import { followUpCampaign } from '../../campaigns/follow-up.ts';
import { retryFailedCampaign } from '../../campaigns/retry-failed.ts';
import { getCampaignRecipient, getCampaignStats } from '../../campaigns/recipients.ts';
import { listContacts } from '../../contacts/contacts.ts';
import { isFinished } from '../../../domain/campaign/campaign.ts';
import { listEmails } from '../../emails/emails.ts';
import { ask, type MemberCall } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectAct, projectPage } from '../page.ts';
import {
  actForm,
  count,
  actorText,
  facts,
  figures,
  heading,
  moment,
  pager,
  section,
  state,
  table,
} from '../parts.ts';
import { limitWords } from './delivery.ts';
import { reasonText, whyNot } from './mail/emails.ts';
import { experimentPages, experimentSection } from './mail/experiment.ts';

type Campaign = z.output<typeof getCampaign.response>;
type Stats = z.output<typeof getCampaignStats.response>;

const showCampaigns = projectPage({
  id: 'showCampaigns',
  path: '/campaigns',
  at: '/campaigns',
  summary: 'The campaigns of a project',
  async show({ call, path }) {
    const { page = '1' } = call.query;
    const list = await ask(call, listCampaigns, { query: { page } });
    return {
      title: 'Campaigns',
      content: html`${heading('Campaigns')}
      ${section('All', campaignTable(list.data, path), pager(list))}`,
    };
  },
});

export function campaignTable(campaigns: readonly Campaign[], path: PageContext['path']): Html {
  return table(
    ['Name', 'State', 'Recipients#', 'Sent#'],
    campaigns.map(({ id, name, status, totalRecipients, sentCount }) => [
      html`<a href="${path(`/campaigns/${id}`)}">${name}</a>`,
      state(status),
      count(totalRecipients),
      count(sentCount),
    ]),
    'No campaigns yet. Create one with POST /campaigns.',
  );
}

const unreached = ['FAILED', 'BOUNCED'] as const;
const unreachedShown = '10';

const showCampaign = projectPage({
  id: 'showCampaign',
  path: '/campaigns/{id}',
  at: '/campaigns',
  summary: 'A campaign: its progress, and the recipients who were not reached',
  async show({ call, token, path }) {
    const { id = '' } = call.params;
    const { email = '' } = call.query;
    const [campaign, stats, answered, ...mails] = await Promise.all([
      ask(call, getCampaign, { params: { id } }),
      ask(call, getCampaignStats, { params: { id } }),
      email === '' ? null : recipientOf(call, id, email),
      ...unreached.map((status) =>
        ask(call, listEmails, { query: { campaignId: id, status, limit: unreachedShown } }),
      ),
    ]);
    const experiment = await experimentSection(call, campaign, { token, path });
    const { name, status, subject, scheduledFor, sentAt, pausedReason } = campaign;
    return {
      title: name,
      content: html`${heading(name, state(status), campaignActs(campaign, stats, token, path))}
      ${section(
        'Progress',
        html`${bar(stats)}${campaignFigures(stats)}${pace(stats)}${reasonTable(stats)}`,
        html`<a href="${path(`/campaigns/${id}/over-time`)}">Over time</a>`,
      )}
      ${experiment}
      ${section(
        'Message',
        facts([
          ['Subject', subject],
          [
            'From',
            campaign.fromName === null ? campaign.from : `${campaign.fromName} <${campaign.from}>`,
          ],
          ['Scheduled for', moment(scheduledFor)],
          ['Sent', moment(sentAt)],
          ['Created by', actorText(campaign.createdBy)],
          ['Sent by', actorText(campaign.sentBy)],
          ...(pausedReason === null ? [] : [['Paused', pausedReason.replace('_', ' ')] as const]),
        ]),
      )}
      ${section(
        'Not reached',
        html`<form>
            <label
              >Check a contact
              <input
                name="email"
                type="email"
                value="${email}"
                placeholder="ada@shop.example"
                autocomplete="off"
            /></label>
            <button>Check</button>
          </form>
          ${answered && html`<p role="status">${email}: ${answered}</p>`}
          ${table(
            ['Address', 'State', 'Reason'],
            mails.flatMap(({ data }) =>
              data.map((mail) => [
                html`<a href="${path(`/contacts/${mail.contactId}`)}">${mail.toEmail}</a>`,
                state(mail.status),
                whyNot(mail),
              ]),
            ),
            'No email of this campaign has failed or bounced.',
          )}`,
      )}`,
    };
  },
});

function campaignActs(
  { id, status }: Campaign,
  { outcomes, leftOut }: Stats,
  token: string,
  path: PageContext['path'],
): Html {
  const isFrozen = leftOut !== null;
  const may = {
    pause: status === 'SENDING',
    resume: status === 'PAUSED',
    cancel: ['SCHEDULED', 'SENDING', 'PAUSED'].includes(status),
    followUp: isFinished({ status, isFrozen }),
    retry: status === 'SENT' && outcomes.failed + outcomes.withheld > 0,
  };
  const action = (name: string) => path(`/campaigns/${id}/${name}`);
  return html`${may.pause && actForm(token, { action: action('pause'), label: 'Pause' })}
  ${may.resume && actForm(token, { action: action('resume'), label: 'Resume', weight: 'first' })}
  ${may.cancel && actForm(token, { action: action('cancel'), label: 'Cancel', weight: 'grave' })}
  ${may.followUp && actForm(token, { action: action('follow-up'), label: 'Send to who did not open' })}
  ${may.retry && actForm(token, { action: action('retry-failed'), label: 'Try failed again' })}`;
}

/**
 * Draws the sent part as a bar. It is an SVG, because the Content-Security-Policy of the pages allows
 * no `style` attributes.
 */
function bar({ totalRecipients, sentCount }: Stats): Html {
  const percent = totalRecipients === 0 ? 0 : Math.min(100, (sentCount / totalRecipients) * 100);
  return html`<svg
    class="bar"
    viewBox="0 0 100 1"
    preserveAspectRatio="none"
    role="img"
    aria-label="${Math.round(percent)} % sent"
  >
    <rect width="${percent}" height="1" />
  </svg>`;
}

function campaignFigures(stats: Stats): Html {
  const percent = (rate: number) =>
    html`<small class="soft">${Math.round(rate * 10) / 10} %</small>`;
  return figures([
    ['Recipients', count(stats.totalRecipients)],
    ['Sent', count(stats.sentCount)],
    [
      stats.deliveryBasis === undefined ? 'Delivered' : 'Delivered or assumed',
      html`${count(stats.deliveredCount + (stats.assumedDeliveredCount ?? 0))}
      ${percent(stats.deliveryRate)}`,
    ],
    ['Opened', html`${count(stats.openedCount)} ${percent(stats.openRate)}`],
    ['Clicked', html`${count(stats.clickedCount)} ${percent(stats.clickRate)}`],
    ['Bounced', html`${count(stats.bouncedCount)} ${percent(stats.bounceRate)}`],
    ['Complaints', count(stats.complainedCount)],
    ['Unsubscribed', count(stats.unsubscribedCount)],
  ]);
}

/** Shows the speed of a campaign, its rate limit, and its estimated end. */
function pace({ progress }: Stats): Html | null {
  if (!progress) return null;
  const { perSecond, limitedBy, scheduledCount, estimatedEndAt } = progress;
  return html`<p>
    ${perSecond} emails a second,
    ${limitedBy === null ? 'at full speed' : `limited by ${limitWords(limitedBy)}`};
    ${scheduledCount > 0 && html`${count(scheduledCount)} wait for the local time of their contact;`}
    ${estimatedEndAt ? html`over at ${moment(estimatedEndAt)}` : 'the end is not known yet'}.
  </p>`;
}

/** Lists the reasons why contacts did not get the campaign, each with the number of contacts. */
function reasonTable({ reasons }: Stats): Html | null {
  const counted = Object.entries(reasons).toSorted(([, one], [, other]) => other - one);
  if (counted.length === 0) return null;
  return table(
    ['Recipients#', 'Reason'],
    counted.map(([code, number]) => [count(number), reasonText(code)]),
    '',
  );
}

async function recipientOf(call: MemberCall, id: string, email: string): Promise<string> {
  const { data } = await ask(call, listContacts, { query: { email } });
  const [contact] = data;
  if (!contact) return 'There is no contact with this address.';
  const { reasonCode } = await ask(call, getCampaignRecipient, {
    params: { id, contactId: contact.id },
  });
  return reasonCode === null ? 'The provider has accepted the message.' : reasonText(reasonCode);
}

const campaignForms = [
  [pauseCampaign, 'pause', 'paused'],
  [resumeCampaign, 'resume', 'resumed'],
  [cancelCampaign, 'cancel', 'cancelled'],
] as const;

export const campaignPages = [
  ...experimentPages,
  showCampaigns,
  showCampaign,
  ...campaignForms.map(([endpoint, name, done]) =>
    projectAct({
      path: `/campaigns/{id}/${name}`,
      does: endpoint,
      async act(call) {
        const { id = '' } = call.params;
        await ask<z.ZodType>(call, endpoint, { params: { id } });
        return { to: `/campaigns/${id}`, done };
      },
    }),
  ),
  projectAct({
    path: '/campaigns/{id}/follow-up',
    does: followUpCampaign,
    async act(call) {
      const { id = '' } = call.params;
      const body = { outcome: 'not_opened' };
      const { data } = await ask(call, followUpCampaign, { params: { id }, body });
      return { to: `/campaigns/${data.id}`, done: 'followedUp' };
    },
  }),
  projectAct({
    path: '/campaigns/{id}/retry-failed',
    does: retryFailedCampaign,
    async act(call) {
      const { id = '' } = call.params;
      const { retried } = await ask(call, retryFailedCampaign, { params: { id }, body: {} });
      return { to: `/campaigns/${id}`, done: retried > 0 ? 'mailRetried' : 'noneRetried' };
    },
  }),
];
