import { command } from '../frame/command.ts';
import { readStored } from '../frame/credentials.ts';
import { bold, columns } from '../frame/text.ts';

/** Lists the profiles that login stored, and those of `everpost.yaml`. */
export const profiles = command({
  name: 'profiles',
  operands: [],
  summary: 'List the profiles with their urls',
  options: {},
  example: 'everpost profiles',
  async run({ env, output, settings }) {
    const stored = await readStored(env);
    const { profiles: inFolder } = await settings();
    const names = [...new Set([...Object.keys(stored), ...Object.keys(inFolder)])].toSorted();
    const listed = names.map((name) => ({
      name,
      url: inFolder[name]?.url ?? stored[name]?.url ?? null,
      hasKey: Object.hasOwn(stored, name),
    }));
    output.result(listed, () => {
      const rows = listed.map(({ name, url, hasKey }) => [
        name,
        url ?? '(no url)',
        hasKey ? 'key stored' : 'no key stored',
      ]);
      return rows.length === 0
        ? ['There are no profiles yet. Run everpost login.']
        : [bold('Profiles'), ...columns(rows, '  ')];
    });
  },
});
