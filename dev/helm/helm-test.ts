import { runCheck } from '../check-command.ts';
import { checkChart, type ChartCheck } from './chart.ts';
import { findHelmTools } from './tools.ts';

const usage = `Usage: npm run helm-test [-- --json]

Checks the Helm chart in deploy/helm/everpost: helm lint and helm template with several values, and
kubeconform for the oldest and the newest supported version of Kubernetes. Needs helm, kubeconform
and schemas; builds or fetches what is missing, once per machine, with Go and with pip of Python 3.

  --json   Print one object with all checks
  --help   Print this text

Exit codes: 0 all checks pass; 1 a check fails; 2 the checks could not run, for example because a
tool is missing.`;

process.exit(await runCheck(usage, check));

async function check(isJson: boolean): Promise<boolean> {
  const onNotice = (sentence: string) => console.error(sentence);
  const tools = await findHelmTools({ env: process.env, onNotice });
  const checks: ChartCheck[] = [];
  for await (const one of checkChart(tools)) {
    checks.push(one);
    if (isJson) continue;
    console.log(`${one.ok ? 'ok    ' : 'FAILED'} ${one.name}`);
    if (!one.ok) console.log(one.message);
  }
  const ok = checks.every((one) => one.ok);
  const at = new Date().toISOString();
  if (isJson) console.log(JSON.stringify({ command: 'helm-test', ok, at, checks }));
  return ok;
}
