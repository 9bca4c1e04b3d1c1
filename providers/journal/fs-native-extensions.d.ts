/** The part of the package that we use. The package itself has no types. */
declare module 'fs-native-extensions' {
  /**
   * Tries to lock an open file; returns false if another open file has the lock. The kernel
   * releases the lock when the process dies.
   */
  export function tryLock(fd: number): boolean;
}
