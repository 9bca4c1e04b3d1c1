import { randomUUID } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { cookieOf } from '../api.ts';
import { makePasskey } from '../passkey.ts';
import { addAuthenticator, cookiesOf } from '../second-factor.ts';
import type { Play, World } from './play.ts';

const password = 'a password';
const other = ({ ids }: World) => ids['cookie'] ?? '';

/** Creates another user, who sends the requests that follow. */
async function signUpOther({ api, ids }: World) {
  const { cookie, userId, email } = await api.signUp();
  Object.assign(ids, { cookie, user: userId, email });
}

async function logInAgain({ api, ids }: World) {
  const body = { email: ids['email'], password };
  const answer = await api.request('POST', '/auth/login', { body });
  const { body: sessions } = await api.request('GET', '/users/@me/sessions', {
    cookie: cookieOf(answer),
  });
  ids['session'] = sessions.find(({ current }: { current: boolean }) => current).id;
}

async function addMember(world: World) {
  await signUpOther(world);
  const { api, project, ids } = world;
  const path = `/projects/${project.id}/members`;
  const body = { email: ids['email'] };
  await api.request('POST', path, { key: project.secretKey, body });
  ids['project'] = project.id;
}

const ofMember = { id: 'project', userId: 'user' };

/** Changes of projects and their members. */
export const projectChanges: Play[] = [
  { id: 'createProject', event: 'project.created', body: { name: 'New shop' }, makes: 'project' },
  { id: 'updateProject', event: 'project.changed', body: { name: 'Shop' } },
  { id: 'regenerateKeys', event: 'keys.regenerated', params: { id: 'project' } },
  {
    id: 'regenerateWebhookSecret',
    event: 'webhook_secret.regenerated',
    params: { id: 'project' },
  },
  { id: 'resetProject', event: 'project.reset' },
  { id: 'deleteProject', event: 'project.deleted' },
  {
    id: 'addMember',
    event: 'member.added',
    params: ofMember,
    body: ({ ids }) => ({ email: ids['email'] }),
    async prepare(world) {
      await signUpOther(world);
      world.ids['project'] = world.project.id;
    },
  },
  {
    id: 'updateMember',
    event: 'member.role_changed',
    params: ofMember,
    body: { role: 'MEMBER' },
    async prepare({ api, project, ids }) {
      await api.db
        .updateTable('membership')
        .set({ role: 'ADMIN' })
        .where('project_id', '=', project.id)
        .where('user_id', '=', ids['user']!)
        .execute();
    },
  },
  { id: 'removeMember', event: 'member.removed', params: ofMember },
  {
    id: 'leaveProject',
    event: 'member.left',
    params: ofMember,
    cookie: other,
    prepare: addMember,
  },
  {
    id: 'acceptInvitation',
    event: 'member.joined',
    params: { projectId: 'project' },
    cookie: other,
    async prepare(world) {
      await signUpOther(world);
      const { api, project, ids } = world;
      await api.db
        .insertInto('invitation')
        .values({ project_id: project.id, user_id: ids['user']!, role: 'MEMBER' })
        .execute();
    },
  },
  {
    id: 'setSignInPolicy',
    event: 'project.policy_changed',
    params: { id: 'project' },
    body: { requireSecondFactor: true },
    cookie: other,
    async prepare({ api, cookie, ids }) {
      ids['cookie'] = (await addAuthenticator(api, cookie)).cookie;
    },
  },
];

/** Changes of accounts. */
export const accountChanges: Play[] = [
  {
    id: 'confirmTotp',
    event: 'factor.added',
    cookie: other,
    body: ({ ids }) => ({
      code: new TOTP({ secret: Secret.fromBase32(ids['totp']!) }).generate(),
    }),
    async prepare(world) {
      await signUpOther(world);
      const { api, ids } = world;
      const cookie = ids['cookie']!;
      const { body } = await api.request('POST', '/users/@me/factors/totp', { cookie, body: {} });
      Object.assign(ids, { factor: body.id, totp: body.secret });
    },
  },
  {
    id: 'addPasskey',
    event: 'factor.added',
    preparesAgain: true,
    cookie: ({ ids }) => `${ids['cookie']}; ${ids['challenge']}`,
    body: ({ ids }) => JSON.parse(ids['passkey']!) as object,
    async prepare(world) {
      await signUpOther(world);
      const { api, ids } = world;
      const path = '/users/@me/factors/passkey/options';
      const options = await api.request('POST', path, { cookie: ids['cookie']! });
      const passkey = makePasskey('https://app.shop.test', 'app.shop.test');
      ids['challenge'] = cookiesOf(options);
      ids['passkey'] = JSON.stringify({ response: passkey.create(options.body) });
    },
  },
  {
    id: 'renameMyFactor',
    event: 'factor.changed',
    cookie: other,
    body: { name: 'New phone' },
    async prepare(world) {
      await signUpOther(world);
      const { id, cookie } = await addAuthenticator(world.api, world.ids['cookie']!);
      Object.assign(world.ids, { factor: id, cookie });
    },
  },
  {
    id: 'renewMyRecoveryCodes',
    event: 'recovery_code.renewed',
    cookie: other,
    wrong: { anonymous: true },
  },
  { id: 'removeMyFactor', event: 'factor.removed', cookie: other },
  {
    id: 'unlinkMyIdentity',
    event: 'identity.unlinked',
    cookie: other,
    async prepare(world) {
      await signUpOther(world);
      const { id } = await world.api.db
        .insertInto('identity')
        .values({
          user_id: world.ids['user']!,
          provider: 'corp',
          issuer: 'https://id.example',
          subject: randomUUID(),
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      world.ids['identity'] = id;
    },
  },
  { id: 'endMySession', event: 'session.ended', cookie: other, prepare: logInAgain },
  {
    id: 'endMyOtherSessions',
    event: 'session.ended',
    cookie: other,
    wrong: { anonymous: true },
    prepare: logInAgain,
  },
  {
    id: 'changePassword',
    event: 'password.changed',
    cookie: other,
    body: { currentPassword: password, newPassword: 'another long password' },
  },
  {
    id: 'deleteMe',
    event: 'account.deleted',
    cookie: other,
    body: { password },
    wrong: { body: { password: 1 } },
    prepare: signUpOther,
  },
];

/** Changes of billing, with a payment provider. */
export const billingChanges: Play[] = [
  {
    id: 'createCheckout',
    event: 'billing.opened',
    params: { id: 'project' },
    prepare: ({ ids, project }) => (ids['project'] = project.id),
  },
  {
    id: 'setBillingLimits',
    event: 'billing_limits.changed',
    params: { id: 'project' },
    body: { campaigns: 1_000 },
    async prepare({ api, project }) {
      await api.db
        .updateTable('project')
        .set({ customer: 'cus_1', subscription: 'sub_1' })
        .where('id', '=', project.id)
        .execute();
    },
  },
  { id: 'createBillingPortal', event: 'billing.opened', params: { id: 'project' } },
];
