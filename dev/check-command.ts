import { parseArgs } from 'node:util';

/**
 * Runs a command that checks something and has the options `--json` and `--help`.
 * @param check returns true if all is well. It prints the result, with `isJson` as one object.
 * @returns the exit code: 0 all is well; 1 something is not; 2 the check could not run
 */
export async function runCheck(
  usage: string,
  check: (isJson: boolean) => Promise<boolean>,
): Promise<number> {
  let isJson: boolean;
  try {
    const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values } = parseArgs({ options });
    if (values.help) {
      console.log(usage);
      return 0;
    }
    isJson = values.json ?? false;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  try {
    return (await check(isJson)) ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
}
