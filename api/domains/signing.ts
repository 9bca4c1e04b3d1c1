import { z } from 'zod';
import {
  changeDomain,
  claimOf,
  type DomainChange,
  type DomainRow,
  findDomain,
} from '../../db/domains/domains.ts';
import { transact } from '../../db/database.ts';
import type { NewKey } from '../../db/domains/keys.ts';
import { found, invalidField, Problem, together } from '../../domain/errors.ts';
import type { DnsRecord } from '../../domain/sender/sender-records.ts';
import { changesBetween } from '../access/changes.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { requireDomain } from './access.ts';
import { makeKey, makeKeys } from './keys.ts';
import type { Services } from '../services/services.ts';
import { Domain, domainExample, type DomainFields, domainFields, presentDomain } from './record.ts';

/** A label of a host name (RFC 1035, 2.3.1). */
const Label = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'Must be one part of a host name, without dots, such as go.',
  );

const DomainChangeInput = z.object({
  ...domainFields,
  trackingSubdomain: Label.nullable()
    .optional()
    .describe('Host for pixel and links in its mail, below the domain; null: that of the server'),
});

const updateDomain = endpoint({
  id: 'updateDomain',
  method: 'PATCH',
  path: '/domains/{id}',
  summary: 'Change a sender domain',
  description:
    '`own`: a DKIM key is made, and mail is signed as soon as DNS shows its record. `provider`: ' +
    'signing stops, and the key is deleted. A verified domain stays verified: its former records ' +
    'count until the new ones have been found once. `inbound`: ordinary mail to its addresses is ' +
    'taken; then each is an event `email.received`, and its sender a contact. `trackingSubdomain`: ' +
    'mail has its pixel and links on this host, once its CNAME record is found and while the domain ' +
    'is verified.',
  access: 'project',
  role: 'ADMIN',
  params: ById,
  body: DomainChangeInput,
  response: Domain,
  problems: ['DOMAIN_NOT_FOUND'],
  example: { body: { signing: 'own' }, response: domainExample },
  async handle(call) {
    const { params, body } = call;
    const { domain, project } = await requireDomain(call, params.id);
    const row = await change(call, domain, (now) => changeOf(call, now, body));
    return presentDomain(row, project, call);
  },
});

const rotateDomainKey = endpoint({
  id: 'rotateDomainKey',
  method: 'POST',
  path: '/domains/{id}/rotate-key',
  summary: 'Make a new DKIM key for a sender domain',
  description:
    'The old key signs until DNS shows the record `dkim_next`. Checks look for it every 5 minutes ' +
    'for 72 hours, then daily; after 30 days the new key is dropped. Keep the record of the old ' +
    'key (`dkim_old`) until `removeAfter`, because mail on its way has its signature. ' +
    'KEY_ROTATION_PENDING: `details.selector` waits already.',
  access: 'project',
  role: 'ADMIN',
  projectOf: async (db, id) => (await findDomain(db, id))?.project_id,
  params: ById,
  response: Domain,
  problems: ['DOMAIN_NOT_FOUND', 'DOMAIN_NOT_SIGNING', 'KEY_ROTATION_PENDING'],
  example: { response: domainExample },
  async handle(call) {
    const { params } = call;
    const { domain, project } = await requireDomain(call, params.id);
    const row = await change(call, domain, (now) => rotationOf(call, now));
    return presentDomain(row, project, call);
  },
});

export const signingEndpoints = [updateDomain, rotateDomainKey];

type Changing = Services & Pick<Call<'project', unknown, unknown, unknown>, 'note'>;

/**
 * Changes a domain. Keys are created outside a transaction. So if another request has changed the
 * domain in the meantime, `plan` is called again for the new state.
 * @param plan returns null when there is nothing to change
 * @throws Problem of `plan`; DOMAIN_NOT_FOUND when the domain is deleted.
 */
async function change(
  call: Changing,
  domain: DomainRow,
  plan: (now: DomainRow) => Promise<(DomainChange & { fields: string }) | null>,
): Promise<DomainRow> {
  const { db, identities, note } = call;
  const settingsOf = (row: DomainRow) => ({
    signing: identities.signingOf(row),
    ed25519: row.ed25519,
    inbound: row.inbound,
  });
  for (let now = domain; ; now = found('DOMAIN', domain.id, await findDomain(db, domain.id))) {
    const planned = await plan(now);
    if (!planned) return now;
    const { fields, ...changes } = planned;
    const row = await transact(db, async (tx) => {
      const changed = await changeDomain(tx, now, changes);
      const { id: domainId, name, project_id: projectId } = now;
      const details = { domainId, domain: name, fields };
      const target = { type: 'domain', id: domainId };
      if (!changed) return changed;
      const differences = changesBetween(settingsOf(now), settingsOf(changed));
      // A key rotation changes no field, but is noted, too.
      const noted = differences.length > 0 ? differences : null;
      const event = {
        event: 'domain.changed' as const,
        projectId,
        target,
        changes: noted,
        details,
      };
      await note(event, tx);
      return changed;
    });
    if (row) return row;
  }
}

/**
 * Plans a change of a domain.
 * @throws Problem VALIDATION_ERROR if `requireAllowed` refuses the settings
 */
async function changeOf(
  services: Changing,
  row: DomainRow,
  body: z.output<typeof DomainChangeInput>,
): Promise<(DomainChange & { fields: string }) | null> {
  const { config, identities } = services;
  const owner = { name: row.name, projectId: row.project_id };
  const before = identities.signingOf(row);
  const signing = body.signing ?? before;
  await together(
    () => requireAllowed(config, signing, body),
    () => refuseTrackingHost(config, row.name, body.trackingSubdomain),
  );
  const ed25519 = signing === 'own' && (body.ed25519 ?? row.ed25519);
  const isOther = body.signing !== undefined && body.signing !== row.signing;
  const inbound = body.inbound ?? row.inbound;
  const isSameKeys = !isOther && ed25519 === row.ed25519;
  const { trackingSubdomain = row.tracking_subdomain } = body;
  const isSameHost = trackingSubdomain === row.tracking_subdomain;
  if (isSameKeys && isSameHost && inbound === row.inbound) return null;
  const common = {
    inbound,
    ...(!isSameHost && { trackingSubdomain }),
    fields: Object.keys(body).join(', '),
  };
  if (isSameKeys) return common;
  if (isOther && signing !== null) {
    const formerRecords = formerRecordsOf(services, row);
    const newKeys =
      signing === 'own' ? await makeKeys(services, owner, 'current', { ed25519 }) : [];
    return { ...common, signing, ed25519, formerRecords, deletedKeys: 'all', newKeys };
  }
  if (!ed25519) return { ...common, ed25519, deletedKeys: 'ed25519' };
  const selectors = row.keys.filter(({ algorithm }) => algorithm === 'rsa');
  const newKeys = await Promise.all(
    selectors.flatMap(({ selector, state }): Promise<NewKey>[] =>
      state === 'previous'
        ? []
        : [makeKey(services, owner, { selector, algorithm: 'ed25519', state })],
    ),
  );
  return { ...common, ed25519, newKeys };
}

/**
 * Refuses settings that cannot work.
 * @param signing the value after the change
 * @throws Problem VALIDATION_ERROR when `ed25519` is requested without own signing, or `inbound`
 * although no mail can arrive
 */
export async function requireAllowed(
  { mail }: Services['config'],
  signing: string | null,
  { ed25519, inbound }: DomainFields,
): Promise<void> {
  const refuse = (field: string, message: string) => {
    throw invalidField(field, 'not_allowed', message, 'true');
  };
  await together(
    () => {
      if (ed25519 && signing !== 'own')
        refuse('ed25519', 'Can only be true if `signing` is `own`.');
    },
    () => {
      if (inbound && !mail.canReceive)
        refuse('inbound', 'Cannot be true: this server is not set up to receive mail.');
    },
  );
}

/**
 * Refuses a tracking host that cannot be used.
 * @throws Problem VALIDATION_ERROR because the mail provider tracks, or the name already has
 * another purpose
 */
function refuseTrackingHost(
  { apiUrl, mail }: Services['config'],
  domain: string,
  label: string | null | undefined,
): void {
  if (label === null || label === undefined) return;
  const refuse = (message: string) => {
    throw invalidField('trackingSubdomain', 'not_allowed', message, label);
  };
  if (mail.tracking !== 'own')
    refuse('Must be null: the mail provider itself tracks opens and clicks of this domain.');
  const isReturnPath = mail.returnPath.host !== null && label === mail.returnPath.subdomain;
  if (label === mail.mailFromSubdomain || isReturnPath) {
    refuse('This name is reserved for bounces. Choose another one.');
  }
  if (`${label}.${domain}` === new URL(apiUrl).hostname) {
    refuse('This is the host of the API. Choose another one.');
  }
}

/** Returns the records that keep a domain verified while its signing changes. */
function formerRecordsOf({ identities }: Changing, row: DomainRow): DnsRecord[] {
  if (row.status !== 'verified') return [];
  const records = identities.dnsRecords(claimOf(row));
  const former = records.filter(({ wasNeeded }) => wasNeeded);
  return former.length > 0 ? former : records.filter(({ isNeeded }) => isNeeded);
}

/**
 * Plans the rotation of a domain's key.
 * @throws Problem DOMAIN_NOT_SIGNING, KEY_ROTATION_PENDING.
 */
async function rotationOf(
  services: Changing,
  row: DomainRow,
): Promise<DomainChange & { fields: string }> {
  if (services.identities.signingOf(row) !== 'own') throw new Problem('DOMAIN_NOT_SIGNING');
  const next = row.keys.find(({ state }) => state === 'next');
  if (next) throw new Problem('KEY_ROTATION_PENDING', { details: { selector: next.selector } });
  const owner = { name: row.name, projectId: row.project_id };
  const newKeys = await makeKeys(services, owner, 'next', { ed25519: row.ed25519 });
  return { deletedKeys: 'dropped', newKeys, fields: 'dkim' };
}
