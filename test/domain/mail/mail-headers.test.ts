import { describe, expect, it } from 'vitest';
import { readCustomHeaders } from '../../../domain/mail/headers.ts';

describe('custom headers', () => {
  it('are kept as they were written', () => {
    const headers = { 'X-Order': '42', 'x-lower': 'b', 'List-Unsubscribe': '<mailto:u@x.test>' };
    expect(readCustomHeaders(headers)).toEqual({ headers, replyTo: null });
  });

  it('may be absent', () => {
    expect(readCustomHeaders(undefined)).toEqual({ headers: {}, replyTo: null });
  });

  it.each([
    'From',
    'To',
    'Cc',
    'Bcc',
    'Subject',
    'Sender',
    'Return-Path',
    'Date',
    'Message-ID',
    'MIME-Version',
    'Content-Type',
    'Content-Transfer-Encoding',
    'DKIM-Signature',
    'X-Everpost-Email',
    'X-Everpost-',
    'Resent-From',
    'Resent-Date',
    'Received',
    'Received-SPF',
    'Authentication-Results',
    'ARC-Seal',
    'Errors-To',
    'Content-Disposition',
    'Content-Language',
  ])('never set %s, in no case', (name) => {
    const given = { [name]: 'a', [name.toLowerCase()]: 'b', [name.toUpperCase()]: 'c' };
    expect(readCustomHeaders(given)).toEqual({ headers: {}, replyTo: null });
  });

  it('that only look like structural ones are kept', () => {
    const headers = { 'X-From': 'a', 'Bcc-Note': 'b', 'X-Everposted': 'c', 'X-Received': 'd' };
    expect(readCustomHeaders(headers).headers).toEqual(headers);
  });

  it('of one name in two cases: the last one wins, under its own spelling', () => {
    const { headers } = readCustomHeaders({ 'X-A': '1', 'X-B': '2', 'x-a': '3' });
    expect(headers).toEqual({ 'x-a': '3', 'X-B': '2' });
  });
});

describe('a custom Reply-To', () => {
  it.each([
    ['help@shop.test', 'help@shop.test'],
    [' Help@Shop.TEST ', 'help@shop.test'],
    ['Help desk <help@shop.test>', 'help@shop.test'],
    ['"Doe, Jane" <jane@shop.test>', 'jane@shop.test'],
  ])('that is %j is taken out as an address', (value, replyTo) => {
    expect(readCustomHeaders({ 'reply-to': value })).toEqual({ headers: {}, replyTo });
  });

  it('in two cases: the last one wins', () => {
    const given = { 'Reply-To': 'a@shop.test', 'REPLY-TO': 'b@shop.test' };
    expect(readCustomHeaders(given).replyTo).toBe('b@shop.test');
  });

  it.each(['nobody', 'a@shop.test, b@shop.test', 'a@shop.test\u0007', ''])(
    'that is %j and no address is dropped',
    (value) => {
      expect(readCustomHeaders({ 'Reply-To': value })).toEqual({ headers: {}, replyTo: null });
    },
  );
});
