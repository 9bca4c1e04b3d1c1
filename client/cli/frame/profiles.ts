import { readStored, type StoredProfiles } from './credentials.ts';
import { type Environment, variable } from './environment.ts';
import { exitCodes, Failure, wrongCall } from './failure.ts';
import type { FolderSettings } from './settings.ts';

/** A project on a server, and the key to it. */
export interface Project {
  profile: string;
  url: string;
  key: string;
  /** The variables of the files in this project. */
  variables: Readonly<Record<string, string>>;
}

const names = /^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$/;

/** Returns the name of the profile that is used: `--profile`, EVERPOST_PROFILE, or `default`. */
export function profileName(option: string | undefined, env: Environment): string {
  const name = option ?? variable(env, 'EVERPOST_PROFILE') ?? 'default';
  if (!names.test(name)) {
    throw wrongCall(
      `"${name}" is no name of a profile. Use up to 50 letters, digits, "-" and "_", such as production.`,
    );
  }
  return name;
}

/** Returns the beginning of the names of a profile's environment variables. */
export function variablePrefix(profile: string): string {
  const middle = profile === 'default' ? '' : `${profile.toUpperCase().replaceAll('-', '_')}_`;
  return `EVERPOST_${middle}`;
}

/**
 * Returns a url in its normal form, without a slash at the end.
 * @throws Failure if the text is no url of a server
 */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isServer = url !== null && ['http:', 'https:'].includes(url.protocol);
  if (!isServer || url.username || url.password || url.search || url.hash) {
    // The text may be a key that was given in the wrong place.
    throw wrongCall('The url must be the address of a server, such as https://mail.example.com.');
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function inSettings(profile: string, { profiles }: FolderSettings) {
  return Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
}

/** Returns the variables of the files for a profile. */
export function variablesOf(profile: string, settings: FolderSettings): Record<string, string> {
  return { ...settings.variables, ...inSettings(profile, settings)?.variables };
}

/**
 * Finds the url and the key of a profile. The environment comes first, then `everpost.yaml`, then
 * what login stored. A stored key is only used with the url with which it was stored.
 * @throws Failure if one of them is missing, or the stored key belongs to another url
 */
export function projectOf(
  profile: string,
  { env, settings, stored }: { env: Environment; settings: FolderSettings; stored: StoredProfiles },
): Project {
  const prefix = variablePrefix(profile);
  const saved = Object.hasOwn(stored, profile) ? stored[profile] : undefined;
  const inFolder = inSettings(profile, settings);
  const givenUrl = variable(env, `${prefix}URL`) ?? inFolder?.url ?? saved?.url;
  const givenKey = variable(env, `${prefix}KEY`);
  if (givenUrl === undefined || (givenKey === undefined && saved === undefined)) {
    const missing = givenUrl === undefined ? `${prefix}URL and ${prefix}KEY` : `${prefix}KEY`;
    throw new Failure(
      'NO_CREDENTIALS',
      exitCodes.wrongCall,
      `There is no key for the profile "${profile}". Run everpost login --profile ${profile}, or set ${missing}.`,
    );
  }
  const url = serverUrl(givenUrl);
  if (givenKey === undefined && url !== saved!.url) {
    throw new Failure(
      'URL_CHANGED',
      exitCodes.wrongCall,
      `The key of the profile "${profile}" was stored for ${saved!.url} and is not sent to ${url}. ` +
        `Run everpost login --profile ${profile} --url ${url}, or set ${prefix}KEY.`,
    );
  }
  return {
    profile,
    url,
    key: givenKey ?? saved!.key,
    variables: variablesOf(profile, settings),
  };
}

/** Like `projectOf`, with the stored profiles of this user. */
export async function findProject(
  profile: string,
  env: Environment,
  settings: FolderSettings,
): Promise<Project> {
  return projectOf(profile, { env, settings, stored: await readStored(env) });
}
