/**
 * Returns the CPU time of this process in milliseconds. For limits on costs: unlike a clock it
 * stands still while other programs use the processor.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
