import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { createCampaignComposer } from '../../../activities/mail/campaign-mail.ts';
import type { CampaignEmail } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { readBodies } from '../../../db/emails/bodies.ts';
import type { MailText } from '../../../db/transactions/mail/attempts.ts';
import { createRenderer } from '../../../providers/rendering/renderer.ts';
import { useShop } from '../../support/projects/shop.ts';
import { use } from '../../support/use.ts';

/**
 * Messages made from a shared skeleton equal messages made one by one. A template with a tag is
 * always made one by one, so the test compares a template with the same one and an empty tag.
 */

const shop = await useShop();
const renderer = use(createRenderer());

const services = (isBilled: boolean) => ({
  db: shop.api.db,
  apiUrl: 'https://mail.shop.test',
  renderer,
  billingRules: isBilled ? { freeTierPerMonth: 1000 } : null,
});
const tracking = {
  apiUrl: 'https://mail.shop.test',
  sign: (text: string) => `s${text.length}`,
};
const saysNothing = '{% comment %}{% endcomment %}';

interface Links {
  isTracked?: boolean;
  /** True: its links get UTM parameters. */
  hasUtm?: boolean;
}

async function insertContent(subject: string, body: string, hasUtm = false): Promise<string> {
  const { body: made } = await shop.call('POST', '/campaigns', {
    name: 'Campaign',
    subject: 'S',
    body: 'B',
    from: `news@${shop.domain}`,
    audienceType: 'ALL',
  });
  const campaignId = made.data.id as string;
  await shop.api.db
    .insertInto('campaign_content')
    .values({
      campaign_id: campaignId,
      version: 1,
      project_id: shop.project.id,
      subject,
      body,
      from_email: 'news@shop.test',
      from_name: 'The Shop é',
      ...(hasUtm && {
        utm: JSON.stringify({ source: 'the shop', campaign: '{campaign}', term: '{step}' }),
        utm_hosts: ['shop.test'],
      }),
    })
    .execute();
  return campaignId;
}

function emailTo(given: Partial<CampaignEmail>): CampaignEmail {
  return {
    id: randomUUID(),
    project_id: shop.project.id,
    contact_id: randomUUID(),
    to_email: 'ada@people.test',
    from_email: 'news@shop.test',
    from_name: 'The Shop é',
    reply_to: 'reply@shop.test',
    message_class: 'MARKETING',
    source_type: 'CAMPAIGN',
    content_version: 1,
    content_arm: '',
    attempts: 1,
    created_at: new Date('2026-11-21T08:30:00.000Z'),
    scheduled_for: null,
    held_until: null,
    billed_units: 1,
    allowance_month: null,
    contact_email: 'ada@people.test',
    contact_subscribed: true,
    contact_data: null,
    project_disabled: false,
    sender_gone: false,
    contact_gone: false,
    suppression: null,
    topic_left: false,
    project_language: 'en',
    project_tracking: 'ENABLED',
    tracking_host: null,
    has_badge: true,
    first_attempt_at: null,
    topic_id: null,
    provider_id: null,
    is_bound: false,
    ...given,
  };
}

async function composed(
  body: string,
  email: CampaignEmail,
  { isTracked = true, hasUtm = false }: Links = {},
  isBilled = false,
) {
  const subject = 'Hi {{name ?? you}}';
  const campaignId = await insertContent(subject, body, hasUtm);
  const compose = await createCampaignComposer(services(isBilled)).prepare(campaignId, [email]);
  const { raw, content } = await compose(email, isTracked ? tracking : null);
  const mail = await PostalMime.parse(raw);
  expect(
    Math.max(
      ...raw
        .toString('latin1')
        .split('\r\n')
        .map((line) => line.length),
    ),
  ).toBeLessThan(999);
  return {
    html: mail.html?.replaceAll('\r\n', '\n'),
    text: mail.text?.replace(/\s+/g, ' ').trim(),
    headers: mail.headers
      .filter(({ key }) => key !== 'content-type')
      .map(({ key, value }) => `${key}: ${value}`)
      .toSorted(),
    subject: content?.subject,
    body: content && (await bodyOf(campaignId, email, content)),
  };
}

/** Returns the body as the record of the mail has it. */
async function bodyOf(campaignId: string, email: CampaignEmail, content: MailText) {
  const kept = {
    campaign_id: campaignId,
    email_id: email.id,
    contact_id: email.contact_id,
    body: 'body' in content ? content.body : null,
    body_template: 'bodyTemplate' in content ? content.bodyTemplate : null,
    body_values: 'values' in content ? content.values : null,
  };
  const [body] = await readBodies(shop.api.db, shop.project.id, [kept]);
  return body;
}

const bodies = {
  plain:
    '<p>Hello {{name ?? friend}}, {{ data.plan }}!</p><p>{{ first name }} {{email}} {{locale}} {{subscribed}}</p>',
  links:
    '<a href="https://shop.test/a?b=1&amp;c={{id}}">Shop</a> <a href="https://shop.test/?e={{email}}">{{name}}</a> ' +
    '<a href="{{url}}">Yours</a> <a href="{{unsubscribeUrl}}">Out</a> <a href=\'https://x.test/{{plan}}\' data-track="false">x</a>',
  'links with values':
    '<a href="https://shop.test/{{plan}}/?u={{id}}#{{url}}">{{name}}</a> <a href="https://shop.test?a={{plan}}&amp;b">x</a>',
  'a host': '<a href="https://{{plan}}.shop.test/">x</a> <a href="https://shop.test{{url}}">y</a>',
  'names of parameters': '<a href="https://shop.test/?{{plan}}=1&amp;{{url}}">x</a>',
  document:
    '<html><body><h1>{{name}}</h1>\n<img src="https://x.test/{{plan}}.png" alt="{{name}}">\n</body></html>',
  none: '<p>é = – no placeholder at all.</p>',
  footless: '<p>{{manageUrl}} {{ id }} {{svc_email}}</p>',
};

describe.each(Object.entries(bodies))('of a template with %s', (_, body) => {
  const value = fc.oneof(
    fc.constantFrom('utm_source', 'shop.test', 'a.b', '?a=1', 'x&utm_source=2', 'other.test/', '/'),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom(
      'Ada & Bert',
      '<b>x</b>',
      '',
      '=?utf-8?q?x?=',
      'a.b\r\n.\r\n',
      'ß'.repeat(200),
      'https://x.test/?a=1&b="2"',
      '=3D',
      ' x ',
    ),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
  );
  const recipient = fc.record(
    {
      name: value,
      plan: value,
      'first name': value,
      url: value,
      locale: fc.constantFrom('de-AT', 'xx', 'pl'),
    },
    { requiredKeys: [] },
  );

  it('is the same both ways, whatever the data', async () => {
    await fc.assert(
      fc.asyncProperty(
        recipient,
        fc.constantFrom('MARKETING' as const, 'TRANSACTIONAL' as const, 'HEADLESS' as const),
        fc.record({ isTracked: fc.boolean(), hasUtm: fc.boolean() }),
        fc.boolean(),
        async (data, messageClass, links, isBilled) => {
          const email = emailTo({ contact_data: data, message_class: messageClass });
          const short = await composed(body, email, links, isBilled);
          const whole = await composed(body + saysNothing, email, links, isBilled);
          expect(short).toEqual({ ...whole, body: whole.body?.replace(saysNothing, '') });
        },
      ),
      { numRuns: 40 },
    );
  }, 60_000);
});

it('is the same for an address and a name in any letters', async () => {
  const email = emailTo({
    to_email: 'jörg@bücher.test',
    contact_email: 'jörg@bücher.test',
    contact_data: { name: 'Jörg – „Ŧest“ '.repeat(20) },
  });
  const short = await composed(bodies.plain, email);
  expect(short).toEqual(await composed(bodies.plain + saysNothing, email));
});

it('keeps a mark that another process wrote', async () => {
  const data = { name: 'v0v v1v', plan: 'v0v0v0v' };
  const email = emailTo({ contact_data: data });
  const { text } = await composed(bodies.plain, email);
  expect(text).toContain('Hello v0v v1v, v0v0v0v!');
});

it('of a campaign that is deleted while its mail is composed can be read afterwards', async () => {
  const campaignId = await insertContent('Hi', bodies.plain);
  const email = emailTo({});
  const compose = await createCampaignComposer(services(false)).prepare(campaignId, [email]);
  await shop.api.db.deleteFrom('campaign').where('id', '=', campaignId).execute();
  const { content } = await compose(email, null);
  expect(content && (await bodyOf(campaignId, email, content))).toContain('Hello friend');
});
