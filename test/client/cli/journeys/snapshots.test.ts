import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkSnapshot, snapshotFolders } from '../../../../client/cli/journeys/snapshots.ts';
import type { SimulatedMail } from '../../../../domain/simulation/simulation.ts';
import { writeFiles } from '../../../support/journeys.ts';
import { useFolder } from '../../../support/use.ts';

const mail = { stepId: 'welcome', subject: 'Hi', body: '<p>Hi</p>' } as SimulatedMail;
const text = '---\nsubject: Hi\n---\n<p>Hi</p>';
const name = 'a.journey.yaml.snapshots/pays';

describe('the snapshots of a test', () => {
  let home: string;
  let folder: string;

  beforeEach(async () => {
    home = await useFolder();
    folder = join(await useFolder(), name);
    await mkdir(dirname(dirname(folder)), { recursive: true });
    await writeFiles(home, { 'pays/1-welcome.html': 'mine', 'pays/notes.txt': 'mine' });
  });

  const check = (emails: SimulatedMail[], mode: 'update' | 'create' | 'compare') =>
    checkSnapshot({ folder, name }, emails, mode);

  /** Expects that a check fails, and that the files outside stay. */
  async function expectRefused(path: string) {
    for (const mode of ['update', 'create', 'compare'] as const) {
      const failures = await check([mail], mode);
      expect(failures).toEqual([expect.stringContaining(`snapshot: ${path} must be a `)]);
    }
    expect(await readdir(join(home, 'pays'))).toEqual(['1-welcome.html', 'notes.txt']);
    expect(await readFile(join(home, 'pays/1-welcome.html'), 'utf8')).toBe('mine');
  }

  it('are refused in a folder that is a link, and nothing is removed', async () => {
    await symlink(home, dirname(folder));
    await expectRefused('a.journey.yaml.snapshots');
  });

  it('are refused in a link inside their folder, and nothing is removed', async () => {
    await mkdir(dirname(folder));
    await symlink(join(home, 'pays'), folder);
    await expectRefused(name);
  });

  it('are refused if one is a link, and nothing is written', async () => {
    await mkdir(folder, { recursive: true });
    await symlink(join(home, 'pays/1-welcome.html'), join(folder, '1-welcome.html'));
    await expectRefused(`${name}/1-welcome.html`);
  });

  it('are refused where a file has the name of their folder', async () => {
    await writeFile(dirname(folder), '');
    await expectRefused('a.journey.yaml.snapshots');
  });

  it('are replaced by an update, which leaves other files alone', async () => {
    await writeFiles(folder, { '1-old.html': 'x', '2-old.html': 'x', 'notes.html': 'mine' });
    expect(await check([mail], 'update')).toEqual([]);
    expect(await readdir(folder)).toEqual(['1-welcome.html', 'notes.html']);
    expect(await readFile(join(folder, '1-welcome.html'), 'utf8')).toBe(text);
    expect(await check([mail], 'compare')).toEqual([]);
  });

  it('are none without mail, with and without a folder, also in CI', async () => {
    for (const mode of ['compare', 'create', 'update', 'compare'] as const) {
      expect(await check([], mode)).toEqual([]);
    }
    expect(await check([mail], 'create')).toEqual([]);
    expect(await check([], 'compare')).toHaveLength(2);
    expect(await check([], 'update')).toEqual([]);
    expect(await check([], 'compare')).toEqual([]);
    expect(await check([mail], 'compare')).toEqual([expect.stringContaining('is missing')]);
  });

  it('have a folder for each test, also where names are alike', () => {
    expect(snapshotFolders(['pays', 'pays', 'pays 2', 'Pays!', '?', 'pays 2'])).toEqual([
      'pays',
      'pays-2',
      'pays-2-2',
      'pays-3',
      'test',
      'pays-2-3',
    ]);
  });
});
