import { accountApi, type AddPasskeyRequest } from './api.ts';

/** Passkeys: the browser signs what the API has sent. */

type Requested = PublicKeyCredentialRequestOptionsJSON;
type Created = PublicKeyCredentialCreationOptionsJSON;

/** A credential in its JSON form, as the API takes it. */
type PasskeyResponse = AddPasskeyRequest['response'];

/** False if the browser does not support passkeys, as on every page without HTTPS. */
export const hasPasskeys =
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function';

function responseOf(credential: Credential | null): PasskeyResponse {
  return (credential as PublicKeyCredential).toJSON() as unknown as PasskeyResponse;
}

/** The error if the browser has no passkey for this server, or the user has cancelled. */
const refused = 'The browser sent no passkey. Try again, or use another way.';

async function ask(credential: Promise<Credential | null>): Promise<PasskeyResponse> {
  const given = await credential.catch(() => null);
  if (given === null) throw new PasskeyRefused(refused);
  return responseOf(given);
}

/** Thrown when the browser has given no passkey. */
export class PasskeyRefused extends Error {
  override readonly name = 'PasskeyRefused';
}

/**
 * Signs in with a passkey. If a session or a pending sign-in exists, the passkey counts as its
 * second factor.
 */
export async function provePasskey(): Promise<void> {
  const { data } = await accountApi.post('/auth/passkey/options', { body: {} });
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data as unknown as Requested);
  const response = await ask(navigator.credentials.get({ publicKey }));
  await accountApi.post('/auth/passkey', { body: { response } });
}

/** Creates a passkey and adds it to the account. */
export async function addPasskey() {
  const options = await accountApi.post('/users/@me/factors/passkey/options');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as unknown as Created);
  const response = await ask(navigator.credentials.create({ publicKey }));
  return accountApi.post('/users/@me/factors/passkey', { body: { response } });
}
