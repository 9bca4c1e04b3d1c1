/** Milliseconds of a window. */
const windowMs = 5 * 60_000;

/**
 * Estimates how far the clock of this machine is ahead of the clock of another machine. The
 * estimate uses messages that contain the time of the other machine. A message takes time, so the
 * smallest difference of the last five to ten minutes is the best estimate.
 */
export class ClockOffset {
  #current = Infinity;
  #previous = Infinity;
  #endsAt = 0;

  /**
   * Notes a message.
   * @param here when the message was received, by the clock of this machine, in milliseconds
   * @param there when the message was sent, by the clock of the other machine
   */
  observe(here: number, there: number): void {
    this.#moveOn(here);
    this.#current = Math.min(this.#current, here - there);
  }

  /** Returns the estimate in milliseconds; null: no message was received lately. */
  read(here: number): number | null {
    this.#moveOn(here);
    const smallest = Math.min(this.#current, this.#previous);
    return smallest === Infinity ? null : smallest;
  }

  #moveOn(here: number): void {
    if (here < this.#endsAt) return;
    this.#previous = here < this.#endsAt + windowMs ? this.#current : Infinity;
    this.#current = Infinity;
    this.#endsAt = here + windowMs;
  }
}
