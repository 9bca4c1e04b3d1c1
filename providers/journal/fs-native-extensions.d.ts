/** The part that is used; the package has no types. */
declare module 'fs-native-extensions' {
  /** Returns false if another open file holds the lock. The kernel frees it at the process's death. */
  export function tryLock(fd: number): boolean;
}
