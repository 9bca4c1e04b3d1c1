import { runCheck } from '../check-command.ts';
import { buildImage, findBase, type ImageStore, openStore } from './build.ts';
import { playImage } from './play.ts';

const usage = `Usage: npm run image-test [-- --json]

Builds the image of the Dockerfile, runs the migrations, an API and a worker from it with a read-only
root and without capabilities, sends a mail, and stops all by SIGTERM. Needs root, buildah, podman
and runc, but no Docker daemon. The base image is NODE_IMAGE, by default that of the Dockerfile; if
no registry has it, one is made with debootstrap and npm.

  --json   Print one object with the result
  --help   Print this text

Exit codes: 0 all is well; 1 something fails; 2 the test could not run, for example because a tool
is missing.`;

/** How many bytes larger than its base the image may be. */
const addedMax = 350 * 1000 * 1000;

process.exit(await runCheck(usage, check));

async function check(isJson: boolean): Promise<boolean> {
  const show = (sentence: string) => (isJson ? console.error : console.log)(sentence);
  const store = await openStore(process.env);
  const base = await findBase(store, process.env);
  show('Building the image …');
  const problems = await problemsOf(store, base, show);
  for (const problem of problems) show(problem);
  const ok = problems.length === 0;
  const at = new Date().toISOString();
  if (isJson) console.log(JSON.stringify({ command: 'image-test', ok, at, problems }));
  return ok;
}

/** Builds the image, and returns what is wrong with it. */
async function problemsOf(
  store: ImageStore,
  base: string,
  show: (sentence: string) => void,
): Promise<string[]> {
  try {
    const image = await buildImage(store, base);
    const problems = await inspect(store, image, base);
    if (problems.length === 0) await playImage(store, image, show);
    return problems;
  } catch (error) {
    return [(error as Error).message];
  }
}

/** Returns what is wrong with the image itself. */
async function inspect(store: ImageStore, image: string, base: string): Promise<string[]> {
  const sizeOf = async (name: string) =>
    Number(await store.run('podman', ['image', 'inspect', '--format', '{{.Size}}', name]));
  const added = (await sizeOf(image)) - (await sizeOf(base));
  const format = '{{.User}} {{json .Labels}} {{json .HealthCheck}}';
  const described = await store.run('podman', ['image', 'inspect', '--format', format, image]);
  return [
    ...(added > addedMax ? [`The image is ${added} bytes larger than its base.`] : []),
    ...(described.startsWith('1000') ? [] : ['The image does not run as user 1000.']),
    ...(described.includes('CMD') ? [] : ['The image has no health check.']),
    ...['version', 'revision', 'source', 'licenses']
      .filter((label) => !described.includes(`"org.opencontainers.image.${label}"`))
      .map((label) => `The image lacks the label ${label}.`),
  ];
}
