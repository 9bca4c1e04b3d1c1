/**
 * Returns the name of a security event in words: `event_subscription.secret_rotated` is
 * `Event subscription: secret rotated`.
 */
export function textOfSecurityEvent(event: string): string {
  const [record = '', action = ''] = event.replaceAll('_', ' ').split('.');
  const first = record.charAt(0).toUpperCase() + record.slice(1);
  return action === '' ? first : `${first}: ${action}`;
}
