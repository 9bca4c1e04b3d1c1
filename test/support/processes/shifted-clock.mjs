/**
 * A module that is loaded before a process of Everpost (`NODE_OPTIONS=--import=…`). The clock of
 * the process jumps by CLOCK_JUMP_MS at SIGUSR2, as when an administrator or NTP sets the clock.
 */
const jumpMs = Number(process.env['CLOCK_JUMP_MS']);
const RealDate = Date;
let offsetMs = 0;

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offsetMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};

process.on('SIGUSR2', () => {
  offsetMs = jumpMs;
});
