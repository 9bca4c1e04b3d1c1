/**
 * Waits for all activities, even if one fails, because the outcomes of mail that was given to the
 * mail provider must be recorded.
 * @throws the error of the first in the list that failed
 */
export async function allSettled(activities: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(activities);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
