import { command } from '../frame/command.ts';
import { readStored, writeStored } from '../frame/credentials.ts';
import { profileName } from '../frame/profiles.ts';

/** Removes what login stored. */
export const logout = command({
  name: 'logout',
  operands: [],
  summary: 'Remove the stored url and key of a profile',
  description: 'The key itself stays valid. Revoke it on the server if it is no longer needed.',
  options: {},
  example: 'everpost logout --profile production',
  async run({ options, env, output }) {
    const profile = profileName(options.profile, env);
    const stored = await readStored(env);
    const isStored = Object.hasOwn(stored, profile);
    if (isStored) {
      const { [profile]: _, ...others } = stored;
      await writeStored(env, others);
    }
    output.result({ profile, removed: isStored }, () => [
      isStored
        ? `The profile "${profile}" is removed.`
        : `Nothing is stored for the profile "${profile}".`,
    ]);
  },
});
