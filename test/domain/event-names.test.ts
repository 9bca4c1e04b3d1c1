import { describe, expect, it } from 'vitest';
import { isReservedEvent } from '../../domain/event-names.ts';

describe('an event name', () => {
  it.each([
    'email.open',
    'email.',
    'email.anything at all',
    'email.two\nlines',
    'contact.subscribed',
    'contact.unsubscribed',
    'segment.vip.entry',
    'segment.vip.exit',
    'segment.a.b.exit',
  ])('that is %j belongs to the system', (name) => {
    expect(isReservedEvent(name)).toBe(true);
  });

  it.each([
    'email',
    'emails.open',
    'my.email.open',
    'Email.open',
    'contact.subscribed.again',
    'contact.Subscribed',
    'contact.created',
    'my contact.subscribed',
    'segment.vip',
    'segment.entry',
    'segment.vip.entry.now',
    'segment.vip.Entry',
    'my segment.vip.entry',
    'order_placed',
  ])('that is %j is free', (name) => {
    expect(isReservedEvent(name)).toBe(false);
  });
});
