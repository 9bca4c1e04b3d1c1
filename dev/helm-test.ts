import { parseArgs } from 'node:util';
import { checkChart, type ChartCheck } from './helm/chart.ts';
import { findHelmTools } from './helm/tools.ts';
import { MissingTool } from './servers/program-cache.ts';

const usage = `Usage: npm run helm-test [-- --json]

Checks the Helm chart in deploy/helm/everpost: helm lint and helm template with several values, and
kubeconform for the oldest and the newest supported version of Kubernetes. Needs helm, kubeconform
and schemas; builds or fetches what is missing, once per machine, with Go and with pip of Python 3.

  --json   Print one object with all checks
  --help   Print this text

Exit codes: 0 all checks pass; 1 a check fails; 2 the checks could not run, for example because a
tool is missing.`;

process.exit(await main());

async function main(): Promise<number> {
  const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  let isJson: boolean;
  try {
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
    const checks = await check((one) => {
      if (!isJson) console.log(`${one.ok ? 'ok    ' : 'FAILED'} ${one.name}`);
      if (!isJson && !one.ok) console.log(one.message);
    });
    const ok = checks.every((one) => one.ok);
    if (isJson) {
      const shown = checks.map(({ name, ok: isOk, message }) => ({
        name,
        ok: isOk,
        message: isOk ? '' : message,
      }));
      const at = new Date().toISOString();
      console.log(JSON.stringify({ command: 'helm-test', ok, at, checks: shown }));
    }
    return ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof MissingTool)) throw error;
    console.error(error.message);
    return 2;
  }
}

async function check(onCheck: (one: ChartCheck) => void): Promise<ChartCheck[]> {
  const notice = (sentence: string) => console.error(sentence);
  const tools = await findHelmTools({ env: process.env, onNotice: notice });
  const checks: ChartCheck[] = [];
  for await (const one of checkChart(tools)) {
    onCheck(one);
    checks.push(one);
  }
  return checks;
}
