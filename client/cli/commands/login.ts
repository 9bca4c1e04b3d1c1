import { clientOf } from '../frame/client.ts';
import { type Call, command, type Options } from '../frame/command.ts';
import { credentialsFile, readStored, writeStored } from '../frame/credentials.ts';
import { wrongCall } from '../frame/failure.ts';
import { profileName, serverUrl } from '../frame/profiles.ts';

const options = {
  url: {
    type: 'string',
    value: 'URL',
    summary: 'The url of the server; default: of everpost.yaml, else asked for',
  },
  'key-stdin': { type: 'boolean', summary: 'Read the key from stdin instead of asking for it' },
} as const satisfies Options;

/** Tries a url and a key, and stores them. */
export const login = command({
  name: 'login',
  operands: [],
  summary: 'Store the url and the secret key of a project, after trying them',
  description:
    'The key is asked for and not shown. It is stored in a file that only you can read. No option takes a key, because other programs can see options.',
  options,
  example: 'everpost login --profile production --url https://mail.example.com',
  async run(call) {
    const profile = profileName(call.options.profile, call.env);
    if (call.options['key-stdin'] && call.options.url === undefined) {
      // The url in everpost.yaml may be one of a stranger, and no question would show it.
      throw wrongCall('--key-stdin needs --url URL, the server that gets the key.');
    }
    const url = serverUrl(await givenUrl(call, profile));
    const key = await givenKey(call, url);
    const everpost = clientOf({ url, key }, call.signal);
    const { name } = await everpost.get('/api-keys/@me', { signal: call.signal });
    await writeStored(call.env, { ...(await readStored(call.env)), [profile]: { url, key } });
    const file = credentialsFile(call.env);
    call.output.result({ profile, url, key: { name }, file }, () => [
      `The key "${name}" of ${url} is stored as the profile "${profile}" in ${file}.`,
    ]);
  },
});

async function givenUrl(call: Call<typeof options>, profile: string): Promise<string> {
  const { profiles } = await call.settings();
  const known = call.options.url ?? profiles[profile]?.url;
  if (known !== undefined) return known;
  return call.questions.text('Url of the server: ', 'Use --url URL and --key-stdin');
}

async function givenKey(call: Call<typeof options>, url: string): Promise<string> {
  const key = call.options['key-stdin']
    ? (await call.stdin()).trim()
    : await call.questions.secret(`Secret key for ${url}: `, 'Use --url URL and --key-stdin');
  if (!/^sk_\w+$/.test(key))
    throw wrongCall('A secret key begins with sk_. Find it in the settings.');
  return key;
}
