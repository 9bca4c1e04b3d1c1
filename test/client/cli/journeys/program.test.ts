import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useCli } from '../../../support/cli.ts';
import { journeyText, paysTest, shopFiles, writeFiles } from '../../../support/journeys.ts';
import { useFolder } from '../../../support/use.ts';

/** The command `everpost test`, as a program without a server, a key or a network. */

const cli = await useCli();

/** Makes a folder with the files of a shop, and a function that runs its tests. */
async function useShopFolder(files: Readonly<Record<string, string>>) {
  const dir = await useFolder();
  await writeFiles(dir, { ...shopFiles, ...files });
  const run = (words: readonly string[] = [], env: Record<string, string> = {}) =>
    cli.run(['test', ...words], { cwd: dir, env });
  return { dir, run };
}

const wrongTest = { name: 'goes another way', expect: { path: ['welcome', 'thanks'] } };

describe('everpost test', () => {
  it('runs 100 tests in less than two seconds', async () => {
    const tests = Array.from({ length: 100 }, (_, n) => ({ ...paysTest, name: `pays ${n}` }));
    const { run } = await useShopFolder({ 'a.journey.yaml': journeyText(...tests) });
    const began = performance.now();
    const { exitCode, stdout } = await run();
    const ms = performance.now() - began;
    expect([exitCode, stdout.split('\n').slice(0, 3)]).toEqual([
      0,
      ['TAP version 14', '1..100', 'ok 1 - a.journey.yaml: pays 0'],
    ]);
    expect(ms).toBeLessThan(2_000);
  });

  it('exits with 1 when a test fails, and shows the expected and the actual path', async () => {
    const { run } = await useShopFolder({ 'x/a.journey.json': journeyText(paysTest, wrongTest) });
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(1);
    expect(stdout).toContain('\nok 1 - x/a.journey.json: pays on the third day\n');
    expect(stdout).toContain('\nnot ok 2 - x/a.journey.json: goes another way\n');
    expect(stdout).toContain('expected: [welcome, thanks]');
    expect(stdout).toContain('actual:   [welcome, {paid: timeout}]');
  });

  it('writes a JUnit report with right counts beside the output', async () => {
    const files = {
      'a.journey.yaml': journeyText(paysTest, wrongTest),
      'b.journey.yaml': journeyText(paysTest, { name: '<&"> \u0001', expect: {} }),
    };
    const { dir, run } = await useShopFolder(files);
    const { stdout } = await run(['--reporter', 'junit=out.xml', '--reporter', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ passed: 2, failed: 2 });
    const xml = await readFile(join(dir, 'out.xml'), 'utf8');
    expect(xml).toMatch(/<testsuites name="everpost test" tests="4" failures="2" errors="0"/);
    expect(xml.match(/<testsuite name="[ab]\.journey\.yaml" tests="2" failures="1"/g)).toHaveLength(
      2,
    );
    expect(xml.match(/<testcase [^>]*classname="onboarding" time="\d+\.\d{3}"/g)).toHaveLength(4);
    expect(xml.match(/<failure /g)).toHaveLength(2);
    expect(xml).toContain('name="&lt;&amp;&quot;&gt; \ufffd"');
  });

  it('shows text with --text and JSON with --json', async () => {
    const { run } = await useShopFolder({ 'a.journey.yaml': journeyText(paysTest, wrongTest) });
    const { stdout } = await run(['--text']);
    expect(stdout).toContain('  ✓ pays on the third day\n  ✗ goes another way\n');
    expect(stdout).toMatch(/1 failed, 1 passed in \d+\.\d s\n$/);
    const report = (await run(['--json'])).json();
    expect(report.tests.map((test: { ok: boolean }) => test.ok)).toEqual([true, false]);
    expect(report.tests[1]).toEqual({
      file: 'a.journey.yaml',
      name: 'goes another way',
      ok: false,
      ms: expect.any(Number),
      failures: [expect.stringContaining('step 2 is {paid: timeout}, not thanks')],
    });
  });

  it('runs only the tests that are asked for', async () => {
    const { run } = await useShopFolder({
      'a.journey.yaml': journeyText(paysTest, wrongTest),
      'b/c.journey.yaml': journeyText(paysTest),
      'node_modules/d.journey.yaml': journeyText(wrongTest),
    });
    const names = async (words: readonly string[]) =>
      (await run([...words, '--json'])).json().tests;
    expect(await names([])).toHaveLength(3);
    expect(await names(['b'])).toHaveLength(1);
    expect(await names(['a.journey.yaml', 'b/c.journey.yaml'])).toHaveLength(3);
    expect(await names(['--grep', 'another'])).toMatchObject([{ name: 'goes another way' }]);
  });

  it.each([
    [[], {}, 'There are no tests'],
    [['--grep', 'nothing'], { 'a.journey.yaml': journeyText(paysTest) }, 'no test whose name'],
    [['gone'], {}, 'There is no file or folder'],
    [['topics/news.yaml'], {}, 'is no file of tests'],
    [['--reporter', 'tapp'], {}, '--reporter is one of'],
    [['--reporter', 'tap', '--reporter', 'json'], {}, 'Only one reporter'],
  ])('exits with 2 for %j', async (words, files: Record<string, string>, message) => {
    const { run } = await useShopFolder(files);
    const { exitCode, stderr } = await run(words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });

  it('fails only the tests that need a file that cannot be read', async () => {
    const { dir, run } = await useShopFolder({
      'a.journey.yaml': journeyText(paysTest),
      'b.journey.yaml': journeyText(paysTest).replace('onboarding', 'other'),
      'workflows/leaving.yaml': 'name: Leaving\n',
    });
    const latin1 = Buffer.from('name: Caf\u00e9\n', 'latin1');
    await writeFile(join(dir, 'workflows/other.yaml'), latin1);
    await writeFile(join(dir, 'c.journey.yaml'), latin1);
    await symlink('/none', join(dir, 'templates/lost.html'));
    const { exitCode, json } = await run(['--json']);
    expect([exitCode, json()]).toEqual([
      1,
      {
        passed: 1,
        failed: 2,
        tests: [
          expect.objectContaining({ file: 'a.journey.yaml', ok: true }),
          expect.objectContaining({
            file: 'b.journey.yaml',
            failures: ['workflows/other.yaml This file is not a text in UTF-8.'],
          }),
          expect.objectContaining({
            name: 'c.journey.yaml',
            failures: ['c.journey.yaml is not a text in UTF-8.'],
          }),
        ],
      },
    ]);
  });

  it('takes variables and the language of the project from everpost.yaml', async () => {
    const welcome = shopFiles['templates/welcome.html'];
    const { run } = await useShopFolder({
      'templates/welcome.html': welcome
        .replace('team@shop.example', '${SENDER}')
        .replace('Hi {{name}}', "'{{locale}}'"),
      'everpost.yaml':
        'variables: {SENDER: a@shop.example}\n' +
        'profiles: {staging: {variables: {SENDER: b@shop.example}}}\n' +
        'project: {name: Shop, language: de}\n',
      'a.journey.yaml': journeyText({
        name: 'sender',
        expect: { mails: [{ from: 'a@shop.example', subject: 'de' }] },
      }),
    });
    expect((await run()).exitCode).toBe(0);
    const { exitCode, stdout } = await run(['--profile', 'staging']);
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining('"b@shop.example"')]);
  });
});

describe('a snapshot', () => {
  const test = { ...paysTest, expect: { snapshot: true } };
  const folder = 'a.journey.yaml.snapshots/pays-on-the-third-day';

  it('is written when it is missing, and compared from then on', async () => {
    const { dir, run } = await useShopFolder({ 'a.journey.yaml': journeyText(test) });
    expect((await run()).exitCode).toBe(0);
    expect(await readdir(join(dir, folder))).toEqual(['1-welcome.html', '2-thanks.html']);
    const thanks = await readFile(join(dir, folder, '2-thanks.html'), 'utf8');
    expect(thanks).toBe('---\nsubject: Thank you\n---\n<p>You paid 5.</p>\n');
    expect((await run(['--ci'])).exitCode).toBe(0);
    const template = shopFiles['templates/thanks.html'].replace('You paid', 'Thanks for');
    await writeFile(join(dir, 'templates/thanks.html'), template);
    const failed = await run();
    expect(failed.exitCode).toBe(1);
    expect(failed.stdout).toContain(`${folder}/2-thanks.html`);
    expect(failed.stdout).toContain('expected: <p>You paid 5.</p>');
    expect(failed.stdout).toContain('actual:   <p>Thanks for 5.</p>');
    expect((await run(['--update'])).exitCode).toBe(0);
    expect((await run(['--ci'])).exitCode).toBe(0);
  });

  it('is a failure in CI when it is missing', async () => {
    const { dir, run } = await useShopFolder({ 'a.journey.yaml': journeyText(test) });
    for (const result of [await run(['--ci']), await run([], { CI: 'true' })]) {
      expect([result.exitCode, result.stdout]).toEqual([1, expect.stringContaining('is missing')]);
    }
    expect(await readdir(dir)).not.toContain('a.journey.yaml.snapshots');
  });

  it('tells of a mail that is no longer sent', async () => {
    const { dir, run } = await useShopFolder({ 'a.journey.yaml': journeyText(test) });
    await run();
    await cp(join(dir, folder, '2-thanks.html'), join(dir, folder, '3-more.html'));
    const { exitCode, stdout } = await run();
    expect([exitCode, stdout]).toEqual([
      1,
      expect.stringContaining('3-more.html is of a mail that'),
    ]);
  });
});
