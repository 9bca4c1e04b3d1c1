/**
 * Returns the CPU time of this process in milliseconds. Tests of cost limits use it, because,
 * unlike a clock, it does not count the time of other programs.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
