/**
 * Waits until all activities have ended, also if one of them fails, because each activity may be
 * sending mail whose outcome must be recorded.
 * @throws the error of the first activity in the list that failed
 */
export async function allSettled(activities: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(activities);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
