import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readCases } from '../../api/files/journeys/cases.ts';
import { FilesProject } from '../../api/files/journeys/project.ts';
import { readFiles } from '../../api/files/reading/read.ts';
import type { ProjectSettings } from '../../client/cli/journeys/play.ts';
import type { TestResult } from '../../client/cli/journeys/reports.ts';
import { runFile } from '../../client/cli/journeys/run-tests.ts';

/** Files of an onboarding: a welcome mail, a wait for the payment, a webhook and thanks. */
export const shopFiles = {
  'workflows/onboarding.yaml': `name: Onboarding
enabled: true
trigger: {type: EVENT, config: {eventName: signed_up}}
exitRules:
  - {eventName: refunded, reason: refund}
steps:
  - {key: welcome, type: SEND_EMAIL, name: Welcome, template: welcome}
  - {key: paid, type: WAIT_FOR_EVENT, name: Paid, config: {eventName: paid, timeout: 604800}}
  - {key: crm, type: WEBHOOK, name: CRM, config: {url: 'https://crm.example/paid', headers: {Authorization: 'Bearer {{secret.CRM}}'}, body: {email: '{{email}}', amount: '{{event.amount}}'}}}
  - {key: thanks, type: SEND_EMAIL, name: Thanks, template: thanks}
  - {key: done, type: EXIT, name: Done, config: {reason: done}}
transitions:
  - {from: trigger, to: welcome}
  - {from: welcome, to: paid}
  - {from: paid, to: crm, branch: event}
  - {from: crm, to: thanks}
  - {from: thanks, to: done}
`,
  'templates/welcome.html': `---
name: Welcome
subject: Hi {{name}}
type: MARKETING
from: Shop <team@shop.example>
topic: news
---
<p>Welcome, {{name}}</p>
`,
  'templates/thanks.html': `---
name: Thanks
subject: Thank you
type: TRANSACTIONAL
from: billing@shop.example
---
<p>You paid {{event.amount}}.</p>
`,
  'topics/news.yaml': 'name: News\ndefault: subscribed\n',
} as const;

/** A test of these files that passes. */
export const paysTest = {
  name: 'pays on the third day',
  events: [{ name: 'paid', after: '3d', data: { amount: 5 } }],
  expect: {
    path: ['welcome', { paid: 'event' }, 'crm', 'thanks', 'done'],
    mails: [
      { step: 'welcome', subject: 'Hi Ada', contains: ['Welcome'] },
      { step: 'thanks', at: '3d' },
    ],
    end: 'EXITED',
    reason: 'done',
  },
};

const ada = { email: 'ada@shop.example', data: { name: 'Ada' } };

/** Returns the text of a file with tests of the onboarding. */
export function journeyText(...tests: readonly object[]): string {
  return JSON.stringify({ workflow: 'onboarding', contact: ada, tests });
}

/** Runs tests on files in memory. */
export async function runJourneys(
  files: Readonly<Record<string, string>>,
  text: string,
  settings: ProjectSettings = {},
): Promise<TestResult[]> {
  const results: TestResult[] = [];
  await runFile('/none/a.journey.yaml', readCases('a.journey.yaml', text), {
    project: new FilesProject(readFiles(files, {})),
    settings,
    snapshots: 'compare',
    onResult: (result) => results.push(result),
  });
  return results;
}

/** Runs one test of the onboarding, and returns its failures. */
export async function failuresOf(test: object, files = {}): Promise<readonly string[]> {
  const results = await runJourneys(
    { ...shopFiles, ...files },
    journeyText({ name: 't', ...test }),
  );
  return results[0]?.failures ?? [];
}

/** Writes files into a folder. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}
