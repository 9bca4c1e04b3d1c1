// The command line in a checkout: `npm run -s everpost -- <arguments>`.
import { pathToFileURL } from 'node:url';
import { buildCli } from './cli.mjs';

const file = await buildCli();
// npm changes to the folder of the package. Paths are those of the folder in which it was called.
process.chdir(process.env.INIT_CWD ?? process.cwd());
await import(pathToFileURL(file).href);
