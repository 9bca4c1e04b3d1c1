/** The settings that the safety rules check. Names are those of the environment. */
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
  /** DATA_ENCRYPTION_KEY decoded, one character per byte. */
  encryptionKey: string | null;
}

/** A rule on settings. A setting that breaks it is reported in one sentence. */
export interface SettingRule<Settings> {
  /** refuse: the process does not start. warn: it logs the sentence. */
  effect: 'refuse' | 'warn';
  /** It applies in production only, or always. */
  where: 'production' | 'everywhere';
  isBroken(settings: Settings): boolean;
  /** Begins with the variable to change. */
  sentence: string;
}

const refused = { effect: 'refuse', where: 'production' } as const;
const warned = { effect: 'warn', where: 'production' } as const;

/** Returns a rule that a URL is encrypted or leads to this machine. `why`: the danger otherwise. */
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
      'DASHBOARD_URL is required with NODE_ENV=production and CONSOLE=false: without it, any page on port 3000 of a user’s machine could use the session of this user',
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
    sentence: 'RATE_LIMIT_ENABLED is false: passwords and keys may be tried without end',
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
 * Returns the unsafe settings, one sentence each that begins with the variable to change. They are
 * refused only in production, because a developer's machine has nothing to lose.
 * @param more rules on other settings
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

/** Returns true if an address is called without encryption over a network. */
export function isReadableOnTheWay(address: string | undefined): boolean {
  const url = address === undefined ? null : URL.parse(address);
  if (!url || url.protocol !== 'http:') return false;
  const { hostname } = url;
  const isHere = hostname === 'localhost' || hostname.endsWith('.localhost');
  return !isHere && hostname !== '[::1]' && !hostname.startsWith('127.');
}

/**
 * Minimum number of different characters of a secret. Among texts of 32 random hexadecimal digits,
 * fewer than one in a million has fewer.
 */
const differentMin = 8;
/** Words in invented or example secrets. */
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

/** Returns true if a secret is obviously not random: few characters, a repeated piece, or words. */
function isGuessable(secret: string): boolean {
  const text = secret.toLowerCase();
  const hasWord = words.some((word) => text.includes(word));
  return new Set(text).size < differentMin || isRepetition(text) || hasWord;
}

/** Returns true if a text repeats one piece, possibly cut at the end. */
function isRepetition(text: string): boolean {
  for (let size = 1; size <= text.length / 2; size += 1) {
    if (text.startsWith(text.slice(size))) return true;
  }
  return false;
}
