import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  readLinkPolicy,
  type StoredLinkPolicy,
  updateLinkPolicy,
} from '../../db/projects/link-policy.ts';
import { limits } from '../../domain/limits.ts';
import { unknownNames, type UtmKey, utmNames } from '../../domain/links/utm.ts';
import { normaliseDomainName } from '../../domain/sender/domain-name.ts';
import { changesBetween } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import { addFault, named, Time, time } from '../http/schemas.ts';

/** UTM parameters for links in campaign and workflow mail. */

const names = utmNames.map((name) => `{${name}}`).join(', ');

const Value = z
  .string()
  .min(1)
  .max(limits.utmChars)
  .superRefine((value, context) => {
    const [unknown] = unknownNames(value);
    if (unknown === undefined) return;
    addFault(context, 'custom', `There is no placeholder {${unknown}}. Use one of ${names}.`);
  })
  .nullable()
  .optional();

const values = {
  source: Value,
  medium: Value,
  campaign: Value,
  term: Value,
  content: Value,
} satisfies Record<UtmKey, typeof Value>;

/** UTM parameters in a request. */
export const UtmInput = z.object(values).meta({ id: 'UtmInput' });

const Answered = z.string().nullable();

const Utm = named('Utm', {
  source: Answered,
  medium: Answered,
  campaign: Answered,
  term: Answered,
  content: Answered,
} satisfies Record<UtmKey, typeof Answered>);

const Given = Answered.optional();

/** UTM parameters of a campaign, without the parameters of the project. */
export const CampaignUtm = named('CampaignUtm', {
  source: Given,
  medium: Given,
  campaign: Given,
  term: Given,
  content: Given,
} satisfies Record<UtmKey, typeof Given>);

const Host = z
  .string()
  .transform(
    (text, context) =>
      normaliseDomainName(text) ??
      addFault(
        context,
        'invalid_string',
        'Must be a host name with a dot, such as shop.example.com.',
      ),
  );

const fields = {
  utm: UtmInput.nullable().describe(
    `Parameters \`utm_source\` and so on; null: none. A value may contain ${names}: names as slugs`,
  ),
  utmHosts: z
    .array(Host)
    .max(limits.utmHosts)
    .describe('Only links to these hosts, and to hosts below them, get parameters; empty: all'),
};

const LinkPolicy = named('LinkPolicy', {
  utm: Utm.nullable(),
  utmHosts: z.array(z.string()),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

function present({ utm, utmHosts, updatedAt }: StoredLinkPolicy): z.input<typeof LinkPolicy> {
  return {
    utm: utm && {
      source: utm.source ?? null,
      medium: utm.medium ?? null,
      campaign: utm.campaign ?? null,
      term: utm.term ?? null,
      content: utm.content ?? null,
    },
    utmHosts,
    updatedAt: time(updatedAt),
  };
}

const example: z.input<typeof LinkPolicy> = {
  utm: {
    source: 'newsletter',
    medium: 'email',
    campaign: '{campaign}{workflow}',
    term: null,
    content: null,
  },
  utmHosts: ['shop.example.com'],
  updatedAt: '2026-11-26T10:00:00.000Z',
};

const about =
  'The links in mail of campaigns and SEND_EMAIL steps get these parameters, whether they are ' +
  'tracked or not. Links to opt-out pages, and links with `data-track="false"`, stay as they are.';

const getLinkPolicy = endpoint({
  id: 'getLinkPolicy',
  method: 'GET',
  path: '/link-policy',
  summary: 'Get the link policy: the UTM parameters of links in mail',
  description: about,
  access: 'secret',
  response: LinkPolicy,
  example: { response: example },
  async handle({ db, caller }) {
    return present(await readLinkPolicy(db, caller.projectId));
  },
});

const putLinkPolicy = endpoint({
  id: 'setLinkPolicy',
  method: 'PUT',
  path: '/link-policy',
  summary: 'Set the link policy: the UTM parameters of links in mail',
  description:
    `Fields that are left out keep their value; \`utm\` is replaced as a whole. ${about} A campaign ` +
    'keeps the parameters that it has when its sending begins.',
  access: 'secret',
  role: 'ADMIN',
  body: z.object(fields).partial(),
  response: LinkPolicy,
  example: {
    body: {
      utm: { source: 'newsletter', medium: 'email', campaign: '{campaign}{workflow}' },
      utmHosts: ['shop.example.com'],
    },
    response: example,
  },
  async handle({ db, caller: { projectId }, body, note }) {
    return transact(db, async (tx) => {
      const { before, after } = await updateLinkPolicy(tx, projectId, body);
      const fieldNames = Object.keys(body);
      const changes = changesBetween(before, after, { fields: fieldNames });
      const details = { fields: fieldNames.join(', ') };
      await note({ event: 'link_policy.changed', projectId, changes, details }, tx);
      return present(after);
    });
  },
});

export const linkPolicyEndpoints = [getLinkPolicy, putLinkPolicy];
