/** The rules that recognise requests by machines. */
export interface MachineRules {
  /**
   * Parts of user agents of scanners, crawlers, monitors, scripts and HTTP libraries, in any case.
   * An entry that begins with `=` must equal the whole user agent.
   */
  agents: readonly string[];
  /** Networks of mail scanners. `on`: the requests from a network that count as a machine's. */
  networks: readonly { cidr: string; on: readonly ('open' | 'click')[] }[];
  /**
   * Proxies of mailbox providers. A request must match all given properties. `prefetches`: the
   * proxy loads images of unread mail.
   */
  proxies: readonly { agent?: string; cidr?: string; prefetches: boolean }[];
}

/** Returns true if a user agent matches an entry of the lists; both are in lower case. */
export function matchesAgent(agent: string, entry: string): boolean {
  return entry.startsWith('=') ? agent === entry.slice(1) : agent.includes(entry);
}

/**
 * The built-in lists. The lists are short, because unlisted machines are recognised by their
 * behaviour, and taking a person for a machine is worse than the reverse.
 */
export const builtInRules: MachineRules = {
  agents: [
    // Crawlers name a page about themselves with a plus sign, as in `+http://…`.
    '+http',
    'googlebot',
    'bingbot',
    'slackbot',
    'twitterbot',
    'linkedinbot',
    'telegrambot',
    'discordbot',
    'applebot',
    'yandexbot',
    'facebookexternalhit',
    'skypeuripreview',
    'whatsapp/',
    'bitlybot',
    'crawler',
    'spider',
    // Scanners of mail and links, as they name themselves.
    'barracuda',
    'proofpoint',
    'mimecast',
    'symantec',
    'messagelabs',
    'trend micro',
    'trendmicro',
    'sophos',
    'fireeye',
    'forcepoint',
    'fortiguard',
    'mailguard',
    'vade secure',
    'cloudmark',
    'zscaler',
    'urlscan',
    'virustotal',
    'linkcheck',
    'safebrowsing',
    // Monitors of websites.
    'uptimerobot',
    'pingdom',
    'statuscake',
    'check_http',
    'site24x7',
    'datadog',
    // Headless browsers, and tools that drive browsers.
    'headlesschrome',
    'phantomjs',
    'puppeteer',
    'playwright',
    'selenium',
    // HTTP tools and libraries, by the user agent that each sends by default.
    'curl/',
    'libcurl',
    'wget/',
    'httpie/',
    'postmanruntime',
    'insomnia/',
    'python-requests',
    'python-urllib',
    'python-httpx',
    'python/',
    'aiohttp',
    'scrapy',
    'go-http-client',
    'fasthttp',
    'java/',
    'java-http-client',
    'apache-httpclient',
    'okhttp/',
    'axios/',
    'node-fetch',
    '=node',
    '=undici',
    'got (https://',
    'libwww-perl',
    'lwp::',
    'guzzlehttp',
    '=ruby',
    'faraday v',
    'http.rb/',
    'winhttp',
    'powershell/',
    'reqwest/',
  ],
  networks: [
    // Barracuda Email Gateway Defense: the range in its documentation.
    { cidr: '209.222.80.0/21', on: ['open', 'click'] },
    // Proofpoint: ranges registered at ARIN that are also in its SPF record.
    { cidr: '67.231.144.0/20', on: ['open', 'click'] },
    { cidr: '148.163.128.0/19', on: ['open', 'click'] },
  ],
  proxies: [
    // Apple Mail Privacy Protection loads all images when a mail arrives, with this user agent.
    { agent: '=Mozilla/5.0', prefetches: true },
    // Gmail and Yahoo load images through proxies when a mail is shown.
    { agent: 'GoogleImageProxy', prefetches: false },
    { agent: 'YahooMailProxy', prefetches: false },
  ],
};
