/**
 * Returns the name of a security event in words: `event_subscription.secret_rotated` is
 * `Event subscription: secret rotated`.
 */
export function textOfSecurityEvent(event: string): string {
  const words = event.replaceAll('_', ' ').replace('api key', 'API key');
  const [record = '', action = ''] = words.split('.');
  const first = record.charAt(0).toUpperCase() + record.slice(1);
  return action === '' ? first : `${first}: ${action}`;
}
