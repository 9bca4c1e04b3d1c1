import { describe, expect, it } from 'vitest';
import { readCustomHeaders } from '../../../domain/mail/headers.ts';
import { addressesIn } from '../../../domain/email-address.ts';

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
    ['<help@shop.test>', 'help@shop.test'],
    ['Help desk <help@shop.test>', '"Help desk" <help@shop.test>'],
    ['"Doe, Jane" <jane@shop.test>', '"Doe, Jane" <jane@shop.test>'],
    ['"Jane \\"J\\" Doe" <jane@shop.test>', '"Jane \\"J\\" Doe" <jane@shop.test>'],
    ['jane@shop.test (Jane (at home))', '"Jane (at home)" <jane@shop.test>'],
    ['(desk) Jane (x) < Jane@shop.test > (y)', '"Jane" <jane@shop.test>'],
    ['jane(her account)@shop.test', '"her account" <jane@shop.test>'],
    ['a@shop.test, b@shop.test', 'a@shop.test, b@shop.test'],
    ['Peter <p@shop.test>, "S, S" <s@shop.test>,,', '"Peter" <p@shop.test>, "S, S" <s@shop.test>'],
    [
      'Team: a@shop.test, B <b@shop.test>;, c@shop.test',
      'a@shop.test, "B" <b@shop.test>, c@shop.test',
    ],
    ['Zoë <z@shop.test>', '"Zoë" <z@shop.test>'],
  ])('that is %j is taken out', (value, replyTo) => {
    expect(readCustomHeaders({ 'reply-to': value })).toEqual({ headers: {}, replyTo });
    // It reads back what it writes.
    expect(readCustomHeaders({ 'reply-to': replyTo }).replyTo).toBe(replyTo);
  });

  it('shows its addresses alone', () => {
    expect(addressesIn('"S, S" <s@shop.test>, p@shop.test')).toBe('s@shop.test, p@shop.test');
    expect(addressesIn('p@shop.test')).toBe('p@shop.test');
  });

  it('in two cases: the last one wins', () => {
    const given = { 'Reply-To': 'a@shop.test', 'REPLY-TO': 'b@shop.test' };
    expect(readCustomHeaders(given).replyTo).toBe('b@shop.test');
  });

  it.each([
    'nobody',
    'a@shop.test, nobody',
    'a@shop.test b@shop.test',
    'Jane a@shop.test',
    '<a@shop.test> <b@shop.test>',
    '<a@shop.test> b',
    '"a <a@shop.test>',
    '(a <a@shop.test>',
    'a> <a@shop.test>',
    '<a@shop.test',
    'a@shop.test\u0007',
    ',',
    'Team:;',
    '',
    '('.repeat(998),
    '"\\',
  ])('that is %j and no address is dropped', (value) => {
    expect(readCustomHeaders({ 'Reply-To': value })).toEqual({ headers: {}, replyTo: null });
  });
});
