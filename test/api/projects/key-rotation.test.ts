import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readOptInTokens } from '../../../db/transactions/contacts/run-opt-in.ts';
import { reEncrypt, encryptedColumns } from '../../../db/projects/re-encryption.ts';
import {
  createCipher,
  createSigner,
  derivedTokens,
  type Secrets,
} from '../../../providers/encryption.ts';
import { trackingLinks } from '../../../domain/links/tracking.ts';
import { useApi, type TestApi } from '../../support/api.ts';
import { linkTo } from '../../support/tracked-link.ts';

/** A server before and after its secrets were replaced: two APIs on one database. */

const oldSecret = 'a secret of thirty-two characters or more';
const newSecret = 'another secret of thirty-two characters or more';
const newKey = randomBytes(32).toString('base64');

const before = await useApi({ JWT_SECRET: oldSecret });
const { cookie } = await before.signUp();
const project = await before.createProject(cookie);
const database = { DATABASE_URL: before.services.config.databaseUrl };
const after = await useApi({
  ...database,
  JWT_SECRET: newSecret,
  JWT_SECRET_PREVIOUS: `${'x'.repeat(40)}, ${oldSecret}`,
  DATA_ENCRYPTION_KEY: newKey,
});
/** Replaced without keeping the old secrets. */
const careless = await useApi({ ...database, JWT_SECRET: newSecret });

const projectOn = async (api: TestApi) => {
  const { body } = await api.request('GET', '/users/@me/projects', { cookie });
  return (body as { id: string; webhookSigningSecret: string }[]).find(
    ({ id }) => id === project.id,
  );
};

describe('after the secrets were replaced', () => {
  it('sessions go on that were begun before', async () => {
    expect((await after.request('GET', '/users/@me', { cookie })).status).toBe(200);
    expect((await careless.request('GET', '/users/@me', { cookie })).status).toBe(401);
  });

  it('new sessions are under the new secret', async () => {
    const made = await after.signUp();
    expect((await careless.request('GET', '/users/@me', made)).status).toBe(200);
    expect((await before.request('GET', '/users/@me', made)).status).toBe(401);
  });

  it('links of mail that was sent before still count and lead on', async () => {
    const links = trackingLinks('', project.id, createSigner(oldSecret, 'tracking links'));
    const path = links.clickUrl(linkTo('https://shop.test/'));
    const followed = await after.request('GET', path);
    expect([followed.status, followed.headers.get('location')]).toEqual([
      302,
      'https://shop.test/',
    ]);
    expect((await careless.request('GET', path)).status).toBe(404);
  });

  it('opt-out links of mail that was sent before still work', async () => {
    const made = await before.request('POST', '/contacts', {
      key: project.secretKey,
      body: { email: 'ada@x.example' },
    });
    const { status } = await after.request('POST', `/unsubscribe/${made.body.id}`);
    const { body } = await after.request('GET', `/contacts/${made.body.id}`, {
      key: project.secretKey,
    });
    expect([status, body.subscribed]).toEqual([200, false]);
  });

  it('encrypted secrets and answers are read that were stored before', async () => {
    const stored = await projectOn(before);
    expect(stored?.webhookSigningSecret).toMatch(/^whsec_/);
    expect(await projectOn(after)).toEqual(stored);
    const request = {
      key: project.secretKey,
      headers: { 'Idempotency-Key': 'before' },
      body: { email: 'grace@x.example', event: 'bought' },
    };
    const first = await before.request('POST', '/v1/track', request);
    const again = await after.request('POST', '/v1/track', request);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
  });

  it('re-encryption lets the former secret go', async () => {
    const stored = await projectOn(before);
    const finished: Secrets = {
      jwtSecret: newSecret,
      jwtSecretsPrevious: [],
      dataEncryptionKey: newKey,
      dataEncryptionKeysPrevious: [],
    };
    const encrypted = () =>
      before.db
        .selectFrom('project')
        .select('webhook_signing_secret')
        .where('id', '=', project.id)
        .executeTakeFirstOrThrow();
    const decrypted = async () =>
      createCipher(finished).decrypt((await encrypted()).webhook_signing_secret);
    await expect(decrypted()).rejects.toThrow('cannot be decrypted');
    const { stdout } = await promisify(execFile)(
      'node',
      ['--import', 'tsx', 'db/main.ts', 're-encrypt'],
      {
        env: {
          ...process.env,
          DATABASE_URL: before.services.config.databaseUrl,
          JWT_SECRET: newSecret,
          JWT_SECRET_PREVIOUS: oldSecret,
          DATA_ENCRYPTION_KEY: newKey,
        },
      },
    );
    expect(stdout).toBe('1 encrypted values were re-encrypted with the current key.\n');
    expect(await decrypted()).toBe(stored?.webhookSigningSecret);
    expect(await reEncrypt(after.db, after.services.cipher)).toBe(0);
    expect(await projectOn(after)).toEqual(stored);
  });
});

it('the link of an opt-in request stays the same as long as its secret is known', async () => {
  const { db } = before;
  const values = { project_id: project.id, email: 'ada@x.test', subscribed: false };
  const { id: contactId } = await db
    .insertInto('contact')
    .values(values)
    .returning('id')
    .executeTakeFirstOrThrow();
  const { id } = await db
    .insertInto('opt_in')
    .values({
      project_id: project.id,
      contact_id: contactId,
      email: values.email,
      of_mail: true,
      topic_ids: [],
      mail_wanted: false,
      mails: 1,
      expire_after: 60,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const tokenOn = async ({ services: { config } }: TestApi) =>
    (
      await readOptInTokens(db, [id], (one) => derivedTokens(config, 'confirmation links', one))
    ).get(id);
  const token = await tokenOn(before);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(await tokenOn(after)).toBe(token);
  expect((await after.request('GET', `/confirm/${token}`)).status).toBe(200);
  const other = await tokenOn(careless);
  expect(other).not.toBe(token);
  expect((await careless.request('GET', `/confirm/${other}`)).status).toBe(200);
  expect((await careless.request('GET', `/confirm/${token}`)).status).toBe(404);
});

it('every encrypted column is re-encrypted', async () => {
  // Other binary columns: hashes, files, and responses that are deleted after a day.
  const others = [
    'account_token.token_hash',
    'api_key.key_hash',
    'api_key.previous_hash',
    'attachment.content',
    'break_glass.token_hash',
    'factor.public_key',
    'idempotency.body_hash',
    'idempotency.response',
    'import_file.content',
    'mail_provider.feedback_token_hash',
    'mail_provider.former_token_hash',
    'mailbox_message.raw',
    'opt_in.token_hash',
    'pending_sign_in.token_hash',
    'project.secret_key_hash',
    'recovery_code.code_hash',
    'suppression.address_hash',
    'used_challenge.hash',
  ];
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type = 'bytea'`.execute(before.db);
  const encrypted = encryptedColumns.map(({ table, column }) => `${table}.${column}`);
  const names = rows.map(({ name }) => name);
  expect(names.filter((name) => !others.includes(name)).toSorted()).toEqual(encrypted.toSorted());
});

describe('a cipher', () => {
  const key = () => randomBytes(32).toString('base64');
  const [first, second] = [key(), key()];
  const secrets = (dataEncryptionKey: string | null, ...previous: string[]): Secrets => ({
    jwtSecret: oldSecret,
    jwtSecretsPrevious: [],
    dataEncryptionKey,
    dataEncryptionKeysPrevious: previous,
  });

  it('decrypts what a former key has encrypted, and encrypts anew under the key in use', () => {
    const old = createCipher(secrets(first)).encrypt('text');
    const cipher = createCipher(secrets(second, first));
    expect(cipher.decrypt(old)).toBe('text');
    const renewed = cipher.reencrypt(old);
    expect(renewed && createCipher(secrets(second)).decrypt(renewed)).toBe('text');
    expect(renewed && cipher.reencrypt(renewed)).toBeNull();
    expect(() => createCipher(secrets(second)).decrypt(old)).toThrow('cannot be decrypted');
  });

  it('decrypts what was encrypted before there was a key, with the secret of that time', () => {
    const derived = createCipher(secrets(null)).encrypt('text');
    expect(createCipher(secrets(first)).decrypt(derived)).toBe('text');
  });

  it('refuses bytes that were changed', () => {
    const cipher = createCipher(secrets(second, first));
    const bytes = cipher.encrypt('text');
    for (const at of [0, 5, 13, 30, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(() => cipher.decrypt(changed)).toThrow('cannot be decrypted');
    }
    expect(() => cipher.decrypt(Buffer.alloc(3))).toThrow('cannot be decrypted');
  });
});
