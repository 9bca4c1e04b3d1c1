import type { Mailer } from '../mailer.ts';

/**
 * The open mailers of projects' providers. A mailer is made when a message needs it, and closed when
 * it is unused for a time, when its settings have changed, or when others need its place. So neither
 * the number of providers nor a server that hangs can use up the connections of this process.
 */

/** Identifies a mailer: a provider with its settings of one time. */
export interface MailerKey {
  projectId: string;
  providerId: string;
  revision: number;
}

export interface OpenMailer extends MailerKey {
  mailer: Mailer;
  /** Messages under way. */
  uses: number;
  idleTimer?: NodeJS.Timeout | undefined;
}

const mailersMaxDefault = 100;
const idleMsDefault = 60_000;

export class OpenMailers {
  readonly #max: number;
  readonly #idleMs: number;
  /** The one that was unused for longest comes first. */
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
   * Returns the open mailer of a key, or a new one. null: there is no place for another. Every mailer
   * must be given back by `release`.
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

  /** Gives no more messages to a mailer, and closes it when it has none under way. */
  retire(open: OpenMailer): void {
    if (this.#open.get(nameOf(open)) !== open) return;
    this.#open.delete(nameOf(open));
    clearTimeout(open.idleTimer);
    if (open.uses === 0) this.#close(open);
  }

  /** Retires the mailers with earlier settings of a provider. */
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
   * Returns true if there is room for another mailer, after closing an unused one if necessary. A
   * project gets a place only while it has fewer mailers with messages under way than are free. So
   * the servers of one project never occupy all places.
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
