import type { Expectation } from '../../../api/files/reading/journey-input.ts';
import type {
  SimulatedMail,
  SimulatedStep,
  SimulatedWebhook,
  Simulation,
} from '../../../domain/simulation/simulation.ts';
import { durationText } from '../../../domain/time/duration.ts';
import { differing, failure, shown } from './parting.ts';

/** Compares a played execution with what a test expects. */

/** Returns all failures; empty: the test passes. Snapshots are not compared. */
export function judge(played: Simulation, expect: Expectation): string[] {
  const failures = [
    ...pathFailures(played, expect),
    ...(expect.mails ? mailFailures(played, expect.mails) : []),
    ...(expect.webhooks ? webhookFailures(played.webhooks, expect.webhooks) : []),
    ...contactFailures(played, expect.contact),
    ...endFailures(played, expect),
  ];
  const isExplained = expect.error !== undefined || played.error === null;
  if (failures.length > 0 && !isExplained) failures.push(`the execution failed: ${played.error}`);
  return failures;
}

/** Returns the steps of a played execution, without the trigger. */
export function stepsOf({ path }: Pick<Simulation, 'path'>): SimulatedStep[] {
  return path.filter(({ type }) => type !== 'TRIGGER');
}

interface PathItem {
  step: string;
  branch: string | null;
}

export function pathItemText({ step, branch }: PathItem): string {
  return branch === null ? step : `{${step}: ${branch}}`;
}

export function pathText(path: readonly PathItem[]): string {
  return `[${path.map(pathItemText).join(', ')}]`;
}

function pathFailures(played: Simulation, { path, passes, avoids }: Expectation): string[] {
  const taken = stepsOf(played).map(({ stepId: step, branch }) => ({ step, branch }));
  const failures: string[] = [];
  const actual = pathText(taken);
  if (path) {
    const length = Math.max(path.length, taken.length);
    const part = Array.from({ length }, (_, index) => index).find(
      (index) => !isItem(path[index], taken[index]),
    );
    if (part !== undefined) {
      const [one, other] = [path[part], taken[part]].map((item) =>
        item ? pathItemText(item) : 'the end',
      );
      const place = `step ${part + 1} is ${other}, not ${one}`;
      failures.push(failure('path', { expected: pathText(path), actual, part: place }));
    }
  }
  const missing = passes && firstMissing(passes, taken);
  if (missing !== undefined && passes) {
    const part = `"${missing}" does not follow`;
    failures.push(failure('passes', { expected: `[${passes.join(', ')}]`, actual, part }));
  }
  for (const key of avoids ?? []) {
    if (!taken.some(({ step }) => step === key)) continue;
    const part = `"${key}" is entered`;
    failures.push(failure('avoids', { expected: `never ${key}`, actual, part }));
  }
  return failures;
}

/** An expected step without a branch may have taken any. */
function isItem(expected: PathItem | undefined, taken: PathItem | undefined): boolean {
  if (!expected || !taken) return false;
  const isBranch = expected.branch === null || expected.branch === taken.branch;
  return expected.step === taken.step && isBranch;
}

function firstMissing(passes: readonly string[], taken: readonly PathItem[]): string | undefined {
  let at = 0;
  return passes.find((key) => {
    const found = taken.findIndex(({ step }, index) => index >= at && step === key);
    at = found + 1;
    return found < 0;
  });
}

function mailFailures(
  { emails, startedAt }: Simulation,
  expected: NonNullable<Expectation['mails']>,
): string[] {
  const sent = emails.filter(({ outcome }) => outcome !== 'withheld');
  const withheld = emails.filter(({ outcome }) => outcome === 'withheld').map(withheldText);
  if (sent.length !== expected.length) {
    const texts = [...sent.map((mail) => mailText(mail, startedAt)), ...withheld];
    const actual = `${sent.length}${listText(texts)}`;
    const wanted = expected.map(
      ({ step, subject }) => (step ?? 'any step') + (subject ? `: ${shown(subject)}` : ''),
    );
    return [failure('mails', { expected: `${expected.length}${listText(wanted)}`, actual })];
  }
  return expected.flatMap((mail, index) =>
    oneMail(`mails.${index}`, mail, sent[index]!, startedAt),
  );
}

function oneMail(
  what: string,
  expected: NonNullable<Expectation['mails']>[number],
  mail: SimulatedMail,
  startedAt: Date,
): string[] {
  const { step, to, from, subject, contains = [], lacks = [], at } = expected;
  const compared = [
    [`${what}.step`, step, mail.stepId],
    [`${what}.to`, to?.toLowerCase(), mail.to],
    [`${what}.from`, from?.toLowerCase(), mail.from],
    [`${what}.subject`, subject, mail.subject],
  ] as const;
  const failures = compared.flatMap(([name, one, other]) =>
    one === undefined ? [] : (differing(name, one, other) ?? []),
  );
  for (const text of contains) {
    if (mail.body.includes(text)) continue;
    const expectedText = `a body with ${shown(text)}`;
    failures.push(
      failure(`${what}.contains`, { expected: expectedText, actual: shown(mail.body) }),
    );
  }
  for (const text of lacks) {
    const place = mail.body.indexOf(text);
    if (place < 0) continue;
    const actual = shown(mail.body.slice(Math.max(0, place - 40), place + text.length + 40));
    failures.push(failure(`${what}.lacks`, { expected: `a body without ${shown(text)}`, actual }));
  }
  const times = [mail.at, mail.heldUntil].flatMap((time) => time ?? []);
  if (at !== undefined && times.every((time) => secondsBetween(startedAt, time) !== at)) {
    const actual = times.map((time) => durationText(secondsBetween(startedAt, time)));
    const [left, sentAt] = actual;
    const text = sentAt === undefined ? `${left}` : `${left}, held until ${sentAt}`;
    failures.push(failure(`${what}.at`, { expected: durationText(at), actual: text }));
  }
  return failures;
}

function mailText(mail: SimulatedMail, startedAt: Date): string {
  const at = durationText(secondsBetween(startedAt, mail.at));
  return `${mail.stepId} at ${at} to ${mail.to}: ${shown(mail.subject)}`;
}

function withheldText({ stepId, reason }: SimulatedMail): string {
  return `${stepId} is withheld: ${reason}`;
}

function webhookFailures(
  calls: readonly SimulatedWebhook[],
  expected: NonNullable<Expectation['webhooks']>,
): string[] {
  if (calls.length !== expected.length) {
    const texts = calls.map(({ stepId, method, url }) => `${stepId}: ${method} ${url}`);
    const actual = `${calls.length}${listText(texts)}`;
    return [failure('webhooks', { expected: String(expected.length), actual })];
  }
  return expected.flatMap(({ step, url, body }, index) => {
    const call = calls[index]!;
    const what = `webhooks.${index}`;
    return [
      ...(step === undefined ? [] : [differing(`${what}.step`, step, call.stepId)]),
      ...(url === undefined ? [] : [differing(`${what}.url`, url, call.url)]),
      ...keyFailures(`${what}.body`, body, jsonOf(call.body)),
    ].flatMap((text) => text ?? []);
  });
}

/** Compares the expected keys of an object. An expected null also means that the key is missing. */
function keyFailures(
  what: string,
  expected: Record<string, unknown> | undefined,
  actual: unknown,
): string[] {
  return Object.entries(expected ?? {}).flatMap(([key, value]) => {
    const isObject = typeof actual === 'object' && actual !== null;
    const has = isObject && Object.hasOwn(actual, key);
    const found = has ? (actual as Record<string, unknown>)[key] : undefined;
    if (value === null && found === undefined) return [];
    return differing(`${what}.${key}`, value, found) ?? [];
  });
}

function contactFailures({ contact }: Simulation, expected: Expectation['contact']): string[] {
  const { subscribed, data } = expected ?? {};
  const ofData = keyFailures('contact.data', data, contact.data ?? {});
  const parted =
    subscribed === undefined
      ? null
      : differing('contact.subscribed', subscribed, contact.subscribed);
  return parted === null ? ofData : [parted, ...ofData];
}

function endFailures(played: Simulation, { end, reason, error, after }: Expectation): string[] {
  const failures: string[] = [];
  const add = (text: string | null) => text !== null && failures.push(text);
  if (end !== undefined) add(differing('end', end, played.status));
  if (reason !== undefined) add(differing('reason', reason, played.exitReason ?? undefined));
  if (error !== undefined && !played.error?.includes(error)) {
    const actual = shown(played.error ?? undefined);
    failures.push(failure('error', { expected: `an error with ${shown(error)}`, actual }));
  }
  if (after === undefined) return failures;
  const { startedAt, endedAt } = played;
  const taken = endedAt && secondsBetween(startedAt, endedAt);
  if (taken !== after) {
    const actual = taken === null ? 'no end: it still waits' : durationText(taken);
    failures.push(failure('after', { expected: durationText(after), actual }));
  }
  return failures;
}

function secondsBetween(start: Date, at: Date): number {
  return (at.getTime() - start.getTime()) / 1000;
}

function listText(texts: readonly string[]): string {
  return texts.map((text) => `\n    ${text}`).join('');
}

function jsonOf(body: string | null): unknown {
  try {
    return body === null ? null : JSON.parse(body);
  } catch {
    return body;
  }
}
