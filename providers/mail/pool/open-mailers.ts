import type { Mailer } from '../mailer.ts';

/**
 * The open mailers of projects' providers. A mailer is created when a message needs it. A mailer is
 * closed when it was unused for a time, when its settings have changed, or when another mailer
 * needs its place. So neither many providers nor a server that hangs can use up the connections of
 * this process.
 */

/** Identifies a mailer: a provider, with one revision of its settings. */
export interface MailerKey {
  projectId: string;
  providerId: string;
  revision: number;
}

export interface OpenMailer extends MailerKey {
  mailer: Mailer;
  /** Number of messages that the mailer is sending. */
  uses: number;
  idleTimer?: NodeJS.Timeout | undefined;
}

const mailersMaxDefault = 100;
const idleMsDefault = 60_000;

export class OpenMailers {
  readonly #max: number;
  readonly #idleMs: number;
  /** Mailers by key. The mailer that was unused for longest comes first. */
  readonly #open = new Map<string, OpenMailer>();
  readonly #closing = new Set<Promise<void>>();

  constructor({ max = mailersMaxDefault, idleMs = idleMsDefault } = {}) {
    this.#max = max;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Returns the mailer of a key, creating it if needed; null: no place is free. `release` must be
   * called for each mailer that was taken.
   */
  take(key: MailerKey, make: () => Mailer): OpenMailer | null {
    const name = nameOf(key);
    let open = this.#open.get(name);
    if (!open) {
      if (!this.#makeRoom(key.projectId)) return null;
      open = { ...key, mailer: make(), uses: 0 };
    }
    clearTimeout(open.idleTimer);
    open.uses += 1;
    this.#open.delete(name);
    this.#open.set(name, open);
    return open;
  }

  release(open: OpenMailer): void {
    open.uses -= 1;
    if (open.uses > 0) return;
    if (this.#open.get(nameOf(open)) === open) {
      open.idleTimer = setTimeout(() => this.retire(open), this.#idleMs).unref();
    } else this.#close(open);
  }

  /** Gives a mailer no more messages, and closes it as soon as it is sending no message. */
  retire(open: OpenMailer): void {
    if (this.#open.get(nameOf(open)) !== open) return;
    this.#open.delete(nameOf(open));
    clearTimeout(open.idleTimer);
    if (open.uses === 0) this.#close(open);
  }

  /** Retires the mailers that have earlier settings of a provider. */
  retireBefore(providerId: string, revision: number): void {
    for (const open of this.#open.values()) {
      if (open.providerId === providerId && open.revision < revision) this.retire(open);
    }
  }

  async close(): Promise<void> {
    for (const open of this.#open.values()) this.retire(open);
    await Promise.all(this.#closing);
  }

  /**
   * Returns true if there is a place for another mailer. May close an unused mailer for this. A
   * project gets a place only while it has fewer busy mailers than places are free, so the servers
   * of one project never occupy all places.
   */
  #makeRoom(projectId: string): boolean {
    const busy = [...this.#open.values()].filter(({ uses }) => uses > 0);
    const ofProject = busy.filter((open) => open.projectId === projectId).length;
    if (ofProject >= this.#max - busy.length) return false;
    if (this.#open.size < this.#max) return true;
    const unused = [...this.#open.values()].find(({ uses }) => uses === 0);
    if (unused) this.retire(unused);
    return unused !== undefined;
  }

  #close({ mailer }: OpenMailer): void {
    const closing = mailer.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function nameOf({ providerId, revision }: MailerKey): string {
  return `${providerId} ${revision}`;
}
