import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { describe, expect, it } from 'vitest';
import { openJournal } from '../../../providers/journal/journal.ts';
import {
  type LeftFilesOptions,
  type LeftJournal,
  removeOldFiles,
  takeLeftFiles,
} from '../../../providers/journal/left-files.ts';
import { readJournal } from '../../../providers/journal/lines.ts';
import { JournalWriter, type WriterOptions } from '../../../providers/journal/writer.ts';
import { useFolder } from '../../support/use.ts';

const day = 86_400_000;
const claim = () => ({ attemptId: randomUUID(), projectId: randomUUID(), campaignId: null });

function writerIn(dir: string, given: Partial<WriterOptions> = {}) {
  const failures: unknown[] = [];
  const options: WriterOptions = {
    dir,
    boot: 'this boot',
    database: 'this database',
    tryLock,
    onFailure: (error) => failures.push(error),
    fileBytes: 64 * 1024,
    ...given,
  };
  return { writer: new JournalWriter(options), failures };
}

function optionsIn(dir: string, given: Partial<LeftFilesOptions> = {}): LeftFilesOptions {
  const same = { boot: 'this boot', database: 'this database', tryLock, isOwn: () => false };
  return { dir, ...same, ...given };
}

/** Sets the time of the last write of each file, so that none has to rest any more. */
async function rest(dir: string, ms = 60_000): Promise<void> {
  const time = new Date(Date.now() - ms);
  for (const name of await readdir(dir)) await utimes(join(dir, name), time, time);
}

/** Takes the left files of a directory, after their rest. */
async function take(dir: string, given: Partial<LeftFilesOptions> = {}): Promise<LeftJournal[]> {
  await rest(dir);
  const taken: LeftJournal[] = [];
  await takeLeftFiles(optionsIn(dir, given), async (left) => void taken.push(left));
  return taken;
}

/** Writes a file with one open attempt, and closes it as the death of its process does. */
async function die(dir: string, given: Partial<WriterOptions> = {}): Promise<string> {
  const { writer } = writerIn(dir, given);
  const notes = writer.claim(claim());
  notes.messageNotes('begun').begin();
  writer.close();
  return (await readdir(dir)).find((name) => name.endsWith('.open')) ?? '';
}

describe('the journal of a worker', () => {
  it('has what was begun before it is sent, and answers when the callback ends', async () => {
    const dir = await useFolder();
    const { writer } = writerIn(dir);
    const notes = writer.claim(claim()).messageNotes('one');
    const read = async () => {
      const [name = ''] = await readdir(dir);
      return readJournal(await readFile(join(dir, name))).attempts[0]?.begun.get('one');
    };
    expect(await read()).toBeUndefined();
    expect(notes.begin()).toBe(true);
    expect(await read()).toBeNull();
    notes.end({ kind: 'accepted', messageId: 'id', delivered: true });
    notes.end({ kind: 'uncertain', error: 'A second outcome changes nothing.' });
    expect(await read()).toEqual({ kind: 'accepted', messageId: 'id', delivered: true });
    writer.close();
  });

  it('has no text of the provider', async () => {
    const dir = await useFolder();
    const { writer } = writerIn(dir);
    const error = 'The server refused the recipient: 550 5.1.1 <ada@shop.example> unknown';
    writer.claim(claim()).messageNotes('one').end({ kind: 'refused', error, isRecipient: true });
    writer.close();
    const [left] = await take(dir);
    expect(left?.attempts[0]?.begun.get('one')).toMatchObject({ code: '550 5.1.1' });
    const [name = ''] = await readdir(dir);
    // A shorter word may be in a random id.
    expect(await readFile(join(dir, name), 'latin1')).not.toContain('shop.example');
  });

  it('is done when all its attempts have ended, and left when not', async () => {
    const dir = await useFolder();
    const { writer } = writerIn(dir);
    writer.claim(claim()).end();
    writer.close();
    expect(await readdir(dir)).toEqual([expect.stringMatching(/\.done$/)]);
    await die(dir);
    expect((await readdir(dir)).filter((name) => name.endsWith('.open'))).toHaveLength(1);
  });

  it('goes on in another file when one is half full', async () => {
    const dir = await useFolder();
    const { writer, failures } = writerIn(dir, { fileBytes: 2_000 });
    const open = writer.claim(claim());
    for (let count = 0; count < 20; count += 1) writer.claim(claim()).end();
    // The first file waits for its open attempt.
    expect(open.messageNotes('late').begin()).toBe(true);
    expect((await readdir(dir)).filter((name) => name.endsWith('.open'))).toHaveLength(2);
    open.end();
    writer.close();
    expect(failures).toEqual([]);
    const names = await readdir(dir);
    expect(names.length).toBeGreaterThan(1);
    expect(names.every((name) => name.endsWith('.done'))).toBe(true);
  });

  it('is kept without a file that cannot be created, and tries again later', async () => {
    const file = join(await useFolder(), 'file');
    await writeFile(file, '');
    const { writer, failures } = writerIn(join(file, 'journal'));
    expect(writer.claim(claim()).messageNotes('one').begin()).toBe(true);
    writer.claim(claim());
    expect(failures).toHaveLength(1);
  });
});

describe('a line that cannot be written', () => {
  it('makes the claim void, so that what is missing counts as unknown', async () => {
    const dir = await useFolder();
    const { writer, failures } = writerIn(dir, { fileBytes: 360 });
    const first = writer.claim(claim());
    const other = claim();
    const notes = writer.claim(other);
    expect(notes.messageNotes(randomUUID()).begin()).toBe(true);
    // The file is full: the message may leave, because its claim is void.
    expect(notes.messageNotes(randomUUID()).begin()).toBe(true);
    expect(failures).toHaveLength(1);
    first.end();
    writer.close();
    const [left] = await take(dir);
    expect(left).toMatchObject({ isComplete: true });
    expect(left?.attempts.find(({ attemptId }) => attemptId === other.attemptId)).toMatchObject({
      isVoid: true,
    });
  });

  it('stops the message when the claim cannot be made void either', async () => {
    const dir = await useFolder();
    let isBroken = false;
    const write = ((...given: Parameters<typeof writeSync>) => {
      if (isBroken) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return writeSync(...given);
    }) as typeof writeSync;
    const { writer, failures } = writerIn(dir, { write });
    const notes = writer.claim(claim());
    isBroken = true;
    expect(notes.messageNotes('one').begin()).toBe(false);
    expect(failures).toHaveLength(2);
    // A claim that is not noted is as without a journal.
    expect(writer.claim(claim()).messageNotes('two').begin()).toBe(true);
  });

  it('stops messages after the journal was closed', async () => {
    const { writer } = writerIn(await useFolder());
    const notes = writer.claim(claim());
    writer.close();
    expect(notes.messageNotes('one').begin()).toBe(false);
  });
});

describe('the file of another worker', () => {
  it('is taken over when its process is dead, by one', async () => {
    const dir = await useFolder();
    const name = await die(dir);
    const [left, ...others] = await take(dir);
    expect(others).toEqual([]);
    expect(left).toMatchObject({ name, isComplete: true });
    expect(await readdir(dir)).toEqual([name.replace('.open', '.done')]);
    expect(await take(dir)).toEqual([]);
  });

  it('is left alone while its process lives', async () => {
    const dir = await useFolder();
    const { writer } = writerIn(dir);
    writer.claim(claim());
    expect(await take(dir)).toEqual([]);
    writer.close();
    expect(await take(dir)).toHaveLength(1);
  });

  it('rests for five seconds, because its last claim may still be committed', async () => {
    const dir = await useFolder();
    await die(dir);
    const taken: LeftJournal[] = [];
    await takeLeftFiles(optionsIn(dir), async (left) => void taken.push(left));
    expect(taken).toEqual([]);
  });

  it('stays when it cannot be settled, and keeps no other waiting', async () => {
    const dir = await useFolder();
    await die(dir);
    await die(dir);
    await rest(dir);
    const [first] = (await readdir(dir)).toSorted();
    const away = takeLeftFiles(optionsIn(dir), async ({ name }) => {
      if (name === first) throw new Error('The database is away.');
    });
    await expect(away).rejects.toThrow('could not be taken over');
    expect(await take(dir)).toMatchObject([{ name: first }]);
  });

  it('is incomplete after another start of the machine', async () => {
    const dir = await useFolder();
    await die(dir, { boot: 'the boot before' });
    expect(await take(dir)).toMatchObject([{ isComplete: false }]);
  });

  it('is incomplete when it was cut', async () => {
    const dir = await useFolder();
    const name = await die(dir);
    await truncate(join(dir, name), 32 * 1024);
    const [left] = await take(dir);
    expect(left).toMatchObject({ isComplete: false });
    expect([...(left?.attempts[0]?.begun.keys() ?? [])]).toEqual(['begun']);
  });

  it('is left to workers on its own database', async () => {
    const dir = await useFolder();
    await die(dir, { database: 'another' });
    expect(await take(dir)).toEqual([]);
    expect(await take(dir, { database: 'another' })).toHaveLength(1);
  });
});

describe('old files', () => {
  it('are removed after their retention time, but not while their process lives', async () => {
    const dir = await useFolder();
    await die(dir);
    await take(dir);
    await die(dir, { database: 'another' });
    const { writer } = writerIn(dir);
    writer.claim(claim());
    await rest(dir, 6 * day);
    await removeOldFiles(optionsIn(dir), 7);
    expect(await readdir(dir)).toHaveLength(3);
    await rest(dir, 8 * day);
    await removeOldFiles(optionsIn(dir), 7);
    const names = await readdir(dir);
    expect(names).toHaveLength(1);
    expect(writer.writes(names[0]!)).toBe(true);
    writer.close();
  });

  it('are removed from the oldest on when all have over a gigabyte', async () => {
    const dir = await useFolder();
    const names = Array.from(
      { length: 20 },
      (_, index) => `20261101T0000${index + 10}-00000000.done`,
    );
    for (const name of names) {
      await writeFile(join(dir, name), '');
      await truncate(join(dir, name), 64 * 1024 * 1024);
    }
    await removeOldFiles(optionsIn(dir), 7);
    expect((await readdir(dir)).toSorted()).toEqual(names.slice(4));
  });

  it('are only those of journals', async () => {
    const dir = await useFolder();
    await writeFile(join(dir, 'notes.done'), '');
    await rest(dir, 100 * day);
    await removeOldFiles(optionsIn(dir), 7);
    expect(await readdir(dir)).toEqual(['notes.done']);
  });
});

describe('a worker', () => {
  it('keeps no journal without JOURNAL_DIR', async () => {
    const given = { database: 'this database', log: { warn() {} }, countFailure() {} };
    const journal = await openJournal({ dir: null, retentionDays: 7 }, given);
    expect(journal.claim(claim()).messageNotes('one').begin()).toBe(true);
    await journal.takeLeft(async () => expect.unreachable());
  });

  it('writes files of at most 64 MB with JOURNAL_DIR', async () => {
    const dir = join(await useFolder(), 'journal');
    const given = { database: 'this database', log: { warn() {} }, countFailure() {} };
    const journal = await openJournal({ dir, retentionDays: 7 }, given);
    journal.claim(claim());
    const [name = ''] = await readdir(dir);
    const { size, blocks } = await stat(join(dir, name));
    expect(size).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(blocks * 512).toBeLessThan(64 * 1024);
    journal.close();
  });
});
