import { randomBytes } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { HandOverNotes, SendOutcome } from '../mail/mailer.ts';
import {
  answerLine,
  begunLine,
  claimLine,
  type ClaimedContent,
  codeIn,
  contentLine,
  endLine,
  headerLine,
  type JournalClaim,
  voidMark,
} from './lines.ts';

/** Takes the notes about one attempt. */
export interface AttemptNotes {
  /** Notes the content of the claimed messages. Only for messages of a campaign. */
  content(content: ClaimedContent): void;
  /** Returns the object with which the mailer takes notes about one message. */
  messageNotes(emailId: string): HandOverNotes;
  /** Notes that the database has all outcomes, or that the claim was released. */
  end(): void;
}

/** Writes nothing. If the process dies, the outcomes of the attempt are unknown. */
export const noNotes: AttemptNotes = {
  content() {},
  messageNotes: () => ({ begin: () => true, end() {} }),
  end() {},
};

export interface WriterOptions {
  dir: string;
  /** Id of the current start of the machine. */
  boot: string;
  database: string;
  /** Locks an open file until the process ends. Returns false if another process has the lock. */
  tryLock: (fd: number) => boolean;
  /** Called when a line cannot be written. */
  onFailure(error: unknown): void;
  /** Size of a file in bytes. Default: 16 MB. */
  fileBytes?: number;
  /** Writes to a file. Only tests replace this function. */
  write?: typeof writeSync;
}

/** Suffixes of file names, which show the state of a file. */
export const endings = {
  /** The file is being created, and is not locked yet. */
  new: '.new',
  /** The file may have attempts whose outcomes are not in the database. */
  open: '.open',
  /** The database has all outcomes of the file. */
  done: '.done',
} as const;

/**
 * Default size of a file. New attempts use only its first half; the second half is left for their
 * further lines (see `takesClaims`).
 */
const fileBytesDefault = 16 * 1024 * 1024;
/** Milliseconds after which a file takes no more attempts, so that old files can be removed. */
const fileAgeMaxMs = 24 * 60 * 60_000;
/** Milliseconds until the next try after a file could not be created. */
const createAgainMs = 10_000;

/**
 * Writes the journal of this process. The written lines survive the death of the process but not of
 * the machine, because the writer does not wait for the disk.
 */
export class JournalWriter {
  readonly #options: WriterOptions;
  readonly #files = new Set<JournalFile>();
  /** The file for new attempts; null: it must be created first. */
  #current: JournalFile | null = null;
  #createAt = 0;
  #isClosed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Notes that an attempt is about to claim messages. Must be called before the claim. */
  claim(claim: JournalClaim): AttemptNotes {
    return this.#fileForClaims()?.claim(claim) ?? noNotes;
  }

  /** Returns true for a file that this process writes. */
  writes(name: string): boolean {
    return [...this.#files].some((file) => file.name === name);
  }

  /** Closes all files. Another process takes over the files with open attempts. */
  close(): void {
    this.#isClosed = true;
    for (const file of this.#files) file.retire();
    for (const file of this.#files) file.close();
  }

  #fileForClaims(): JournalFile | null {
    if (this.#isClosed) return null;
    if (this.#current?.takesClaims()) return this.#current;
    this.#current?.retire();
    this.#current = null;
    if (Date.now() < this.#createAt) return null;
    try {
      const file = new JournalFile(this.#options, () => this.#files.delete(file));
      this.#files.add(file);
      this.#current = file;
    } catch (error) {
      this.#createAt = Date.now() + createAgainMs;
      this.#options.onFailure(error);
    }
    return this.#current;
  }
}

/** One file of the journal, which is locked while it is written. */
class JournalFile {
  readonly name: string;
  readonly #options: WriterOptions & { fileBytes: number };
  readonly #onClosed: () => void;
  readonly #createdAt = Date.now();
  /**
   * The descriptor of the file; null: the file is closed, and another file may get the same number.
   */
  #fd: number | null;
  #position = 0;
  /** Number of attempts so far, and number of open attempts. */
  #attempts = 0;
  #open = 0;
  #isRetired = false;
  /** Lines that wait to be written with the next line, or at the end of the current callback. */
  #added = '';

  /**
   * Creates, locks and opens a new file.
   * @throws when the file cannot be created or locked.
   */
  constructor(options: WriterOptions, onClosed: () => void) {
    this.#options = { ...options, fileBytes: options.fileBytes ?? fileBytesDefault };
    this.#onClosed = onClosed;
    const { dir, boot, database, fileBytes, tryLock } = this.#options;
    const time = new Date(this.#createdAt).toISOString().replaceAll(/[-:]|\..*/g, '');
    const name = `${time}-${randomBytes(4).toString('hex')}`;
    this.name = name + endings.open;
    mkdirSync(dir, { recursive: true });
    // Other processes look only for files named `.open`, so the file gets this suffix once it is
    // locked.
    const path = join(dir, name + endings.new);
    this.#fd = openSync(path, 'wx+', 0o600);
    try {
      ftruncateSync(this.#fd, fileBytes);
      if (!tryLock(this.#fd)) throw new Error('The new file of the journal is locked.');
      const header = headerLine({ boot, database, bytes: fileBytes }, this.#createdAt);
      if (!this.#write(header)) throw new Error('The new file of the journal cannot be written.');
      renameSync(path, join(dir, this.name));
    } catch (error) {
      closeSync(this.#fd);
      unlinkSync(path);
      throw error;
    }
  }

  /**
   * Returns true while the first half of the file has room. The second half is for further lines of
   * the attempts in the first half.
   */
  takesClaims(): boolean {
    const isYoung = Date.now() - this.#createdAt < fileAgeMaxMs;
    return isYoung && this.#position < this.#options.fileBytes / 2;
  }

  /** Notes the claim of a new attempt. Returns null if the line could not be written. */
  claim(claim: JournalClaim): AttemptNotes | null {
    const number = this.#attempts;
    const line = claimLine(number, claim, Date.now());
    if (!this.write(line)) return null;
    const at = this.#position - line.length;
    this.#attempts += 1;
    this.#open += 1;
    let isVoid = false;
    return {
      content: (content) => this.#add(contentLine(number, content)),
      messageNotes: (emailId) => {
        let hasEnded = false;
        return {
          begin: () => {
            if (this.write(begunLine(number, emailId, Date.now()))) return true;
            isVoid ||= this.#overwrite(at, voidMark);
            return isVoid;
          },
          end: (outcome) => {
            if (!hasEnded) this.#add(outcomeLine(number, emailId, outcome));
            hasEnded = true;
          },
        };
      },
      end: () => {
        this.#add(endLine(number));
        this.#open -= 1;
        if (this.#isRetired) this.retire();
      },
    };
  }

  /** Makes the file take no more attempts. The file is done as soon as no attempt is open. */
  retire(): void {
    this.#isRetired = true;
    if (this.#open > 0 || this.#fd === null) return;
    this.#flush();
    const { dir } = this.#options;
    try {
      ftruncateSync(this.#fd, this.#position);
      renameSync(join(dir, this.name), join(dir, this.name.replace(endings.open, endings.done)));
    } catch {
      // The file is closed without being marked as done. Another process will find it and finish
      // it.
    }
    this.close();
  }

  close(): void {
    if (this.#fd === null) return;
    this.#flush();
    closeSync(this.#fd);
    this.#fd = null;
    this.#onClosed();
  }

  /** Writes a line now, after the waiting lines. Returns false if it could not be written. */
  write(line: string): boolean {
    const text = this.#added + line;
    this.#added = '';
    return this.#write(text);
  }

  /**
   * Adds a line, which is written together with the next line, or when the current callback ends.
   * An SMTP server often answers one message and asks for the next message in one packet. Then one
   * write is enough for both lines.
   */
  #add(line: string): void {
    if (this.#fd === null || line === '') return;
    if (this.#added === '') queueMicrotask(() => this.#flush());
    this.#added += line;
  }

  #flush(): void {
    if (this.#added !== '') this.write('');
  }

  #write(text: string): boolean {
    const { fileBytes, onFailure, write = writeSync } = this.#options;
    try {
      if (this.#fd === null) throw new Error('The journal is closed.');
      if (this.#position + text.length > fileBytes) throw new Error('The file is full.');
      const written = write(this.#fd, text, this.#position, 'latin1');
      if (written < text.length) throw new Error('The line was written in part.');
    } catch (error) {
      onFailure(error);
      return false;
    }
    this.#position += text.length;
    return true;
  }

  /** Overwrites a character in place, which works even when the disk is full. */
  #overwrite(at: number, character: string): boolean {
    const { onFailure, write = writeSync } = this.#options;
    try {
      if (this.#fd === null) throw new Error('The journal is closed.');
      return write(this.#fd, character, at, 'latin1') === 1;
    } catch (error) {
      onFailure(error);
      return false;
    }
  }
}

/** Returns the line for an outcome; empty: nothing needs to be noted. */
function outcomeLine(number: number, emailId: string, outcome: SendOutcome): string {
  const now = Date.now();
  const { kind } = outcome;
  // Usually an earlier line already notes the beginning of the message. There is no such line if
  // the provider answered before the whole message was sent.
  if (kind === 'uncertain') return begunLine(number, emailId, now);
  if (kind === 'stopped') return '';
  if (kind === 'accepted') return answerLine(number, emailId, outcome, now);
  const code = codeIn(outcome.error);
  if (kind === 'refused') {
    const { isRecipient = false } = outcome;
    return answerLine(number, emailId, { kind, code, isRecipient }, now);
  }
  const { isAboutMessage = false, retryAfterMs = 0 } = outcome;
  return answerLine(number, emailId, { kind, code, isAboutMessage, retryAfterMs }, now);
}
