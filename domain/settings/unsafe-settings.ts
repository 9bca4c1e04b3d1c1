/** The settings that the safety rules check, named like their environment variables. */
export interface JudgedSettings {
  NODE_ENV: string;
  API_URL?: string | undefined;
  DASHBOARD_URL?: string | undefined;
  CONSOLE: boolean;
  LANDING_URL?: string | undefined;
  DOCS_URL?: string | undefined;
  JWT_SECRET: string;
  DATA_ENCRYPTION_KEY?: string | undefined;
  STRIPE_API_BASE?: string | undefined;
  PLATFORM_FROM_ADDRESS?: string | undefined;
  WEBHOOK_ALLOW_PRIVATE?: boolean | undefined;
  RATE_LIMIT_ENABLED: boolean;
  TRUST_PROXY: boolean;
  DISABLE_SIGNUPS: boolean;
  METRICS_HOST: string;
  METRICS_TOKEN?: string | undefined;
  /** The decoded DATA_ENCRYPTION_KEY, with one character for each byte. */
  encryptionKey: string | null;
}

/** A rule about settings. A setting that breaks the rule is reported with its sentence. */
export interface SettingRule<Settings> {
  /** `refuse`: the process does not start. `warn`: the process logs the sentence. */
  effect: 'refuse' | 'warn';
  /** The environment in which the rule applies. */
  where: 'production' | 'everywhere';
  isBroken(settings: Settings): boolean;
  /** Begins with the name of the variable to change. */
  sentence: string;
}

const refused = { effect: 'refuse', where: 'production' } as const;
const warned = { effect: 'warn', where: 'production' } as const;

/**
 * Returns the rule that a URL must be encrypted or lead to this machine. `why`: the danger if it
 * does neither.
 */
const encrypted = (
  name: 'API_URL' | 'DASHBOARD_URL' | 'LANDING_URL' | 'DOCS_URL' | 'STRIPE_API_BASE',
  why: string,
): SettingRule<JudgedSettings> => ({
  ...refused,
  isBroken: (settings) => isReadableOnTheWay(settings[name]),
  sentence: `${name} must begin with https:// or point to this machine when NODE_ENV=production: ${why}`,
});
const actsInSessions = 'otherwise someone in the network could take over the sessions of users';

const rules: readonly SettingRule<JudgedSettings>[] = [
  {
    ...refused,
    isBroken: ({ DASHBOARD_URL: url, CONSOLE: hasConsole }) => url === undefined && !hasConsole,
    sentence:
      'DASHBOARD_URL is required when NODE_ENV=production and CONSOLE=false: otherwise any page on http://localhost:3000 of a user could use the session of this user',
  },
  encrypted('API_URL', 'otherwise someone in the network could read session cookies and keys'),
  encrypted('DASHBOARD_URL', actsInSessions),
  encrypted('LANDING_URL', actsInSessions),
  encrypted('DOCS_URL', actsInSessions),
  encrypted(
    'STRIPE_API_BASE',
    'otherwise someone in the network could read the key of the account',
  ),
  {
    ...refused,
    isBroken: ({ JWT_SECRET: secret }) => isGuessable(secret),
    sentence:
      'JWT_SECRET can be guessed, which NODE_ENV=production does not allow: make one with openssl rand -base64 48',
  },
  {
    ...refused,
    isBroken: ({ encryptionKey: key }) => key !== null && isGuessable(key),
    sentence:
      'DATA_ENCRYPTION_KEY can be guessed, which NODE_ENV=production does not allow: make one with openssl rand -base64 32',
  },
  {
    ...refused,
    isBroken: ({ DATA_ENCRYPTION_KEY: key, JWT_SECRET: secret }) => key === secret,
    sentence:
      'DATA_ENCRYPTION_KEY must differ from JWT_SECRET when NODE_ENV=production: a leak of one would be a leak of both',
  },
  {
    ...refused,
    isBroken: ({ WEBHOOK_ALLOW_PRIVATE: isAllowed }) => isAllowed === true,
    sentence:
      'WEBHOOK_ALLOW_PRIVATE must not be true with NODE_ENV=production: every project could reach the private network',
  },
  {
    ...refused,
    isBroken: ({ METRICS_HOST: host, METRICS_TOKEN: token }) =>
      token === undefined && !isThisMachine(host),
    sentence:
      'METRICS_TOKEN is required when NODE_ENV=production and METRICS_HOST is not an address of this machine alone: otherwise everyone in the network could read the metrics',
  },
  {
    ...warned,
    isBroken: ({ API_URL: url }) => url === undefined || !url.startsWith('https:'),
    sentence:
      'API_URL is not the public https address: session cookies are not Secure, and links in mail lead to this machine',
  },
  {
    ...warned,
    isBroken: ({ API_URL: url, TRUST_PROXY: isTrusted }) =>
      url?.startsWith('https:') === true && !isTrusted,
    sentence:
      'TRUST_PROXY is not set: all clients behind a proxy count as one address, and share its request limits',
  },
  {
    ...warned,
    isBroken: ({ RATE_LIMIT_ENABLED: isLimited }) => !isLimited,
    sentence: 'RATE_LIMIT_ENABLED is false: anyone can try passwords and keys without limit',
  },
  {
    ...warned,
    isBroken: ({ PLATFORM_FROM_ADDRESS: sender, DISABLE_SIGNUPS: isClosed }) =>
      sender === undefined && !isClosed,
    sentence:
      'PLATFORM_FROM_ADDRESS is not set: addresses count as verified, so anyone can sign up with the address of another person',
  },
];

/**
 * Returns the unsafe settings, one sentence each that begins with the variable to change. Outside
 * production nothing is refused, because a developer's machine has nothing to lose.
 * @param more rules about other settings
 */
export function judgeSettings<More extends object>(
  settings: JudgedSettings & More,
  more: readonly SettingRule<More>[],
): { refused: string[]; warned: string[] } {
  const isProduction = settings.NODE_ENV === 'production';
  const broken = [...more, ...rules].filter(
    (rule) => (rule.where === 'everywhere' || isProduction) && rule.isBroken(settings),
  );
  const sentences = (wanted: SettingRule<never>['effect']) =>
    broken.flatMap(({ effect, sentence }) => (effect === wanted ? [sentence] : []));
  return { refused: sentences('refuse'), warned: sentences('warn') };
}

/** Returns true if requests to an address go unencrypted over a network. */
export function isReadableOnTheWay(address: string | undefined): boolean {
  const url = address === undefined ? null : URL.parse(address);
  if (!url || url.protocol !== 'http:') return false;
  return !isThisMachine(url.hostname.replace(/^\[|\]$/g, ''));
}

/** Returns true if only this machine can reach a host. */
function isThisMachine(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1') return true;
  return /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Minimum number of different characters in a secret. Less than one in a million texts of 32 random
 * hexadecimal digits has fewer.
 */
const differentMin = 8;
/** Words that occur in invented or example secrets. */
const words = [
  'secret',
  'password',
  'changeme',
  'change-me',
  'change_me',
  'replace',
  'example',
  'everpost',
  'placeholder',
  'insecure',
  'development',
  '12345678',
  'abcdefgh',
  'qwertyui',
];

/**
 * Returns true if a secret is obviously not random: it has few different characters, a repeated
 * piece, or one of `words`.
 */
function isGuessable(secret: string): boolean {
  const text = secret.toLowerCase();
  const hasWord = words.some((word) => text.includes(word));
  return new Set(text).size < differentMin || isRepetition(text) || hasWord;
}

/** Returns true if a text consists of one repeated piece; the last repetition may be cut. */
function isRepetition(text: string): boolean {
  for (let size = 1; size <= text.length / 2; size += 1) {
    if (text.startsWith(text.slice(size))) return true;
  }
  return false;
}
