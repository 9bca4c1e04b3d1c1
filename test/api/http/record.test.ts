import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { exampleOf, present } from '../../../api/http/record.ts';
import { Time } from '../../../api/http/schemas.ts';
import { columnsFrom } from '../../../db/columns.ts';

const Mail = z.object({
  id: z.string().meta({ examples: ['m1'] }),
  from: z.string().nullable(),
  status: z.enum(['SENT', 'FAILED']),
  sentAt: Time.nullable(),
  headers: z.record(z.string(), z.unknown()),
  note: z.string().optional(),
});

const row = {
  id: 'm7',
  from_email: 'ada@shop.example',
  status: 'FAILED' as string,
  sent_at: new Date('2026-11-20T10:00:00Z') as Date | null,
  headers: { fromName: { x_y: 1 }, at: 'now' } as Record<string, unknown>,
  secret: 'not for anybody',
};

describe('present', () => {
  it('reads the fields from the columns of their names, and nothing else', () => {
    expect(present(Mail, row, { from: row.from_email })).toEqual({
      id: 'm7',
      from: 'ada@shop.example',
      status: 'FAILED',
      sentAt: '2026-11-20T10:00:00.000Z',
      headers: { fromName: { x_y: 1 }, at: 'now' },
    });
  });

  it('prefers what is given to a column', () => {
    expect(present(Mail, row, { from: null, id: 'm8', sentAt: null })).toMatchObject({
      id: 'm8',
      sentAt: null,
    });
  });

  it('is no program where a field has no column, or one of another type', () => {
    const given = { from: null };
    // @ts-expect-error There is no column "from".
    present(Mail, row);
    // @ts-expect-error There is no column "status".
    present(Mail, { ...row, status: undefined }, given);
    // @ts-expect-error The column may be null, the field may not.
    present(Mail, { ...row, status: null }, given);
    // @ts-expect-error A number is no time.
    present(Mail, { ...row, sent_at: 7 }, given);
    // @ts-expect-error There is no such field.
    present(Mail, row, { from: null, form: null });
    expect(present(Mail, { ...row, sent_at: 7 }, { ...given, sentAt: null }).sentAt).toBeNull();
  });
});

describe('exampleOf', () => {
  it('shows the examples of the fields, else the simplest value', () => {
    expect(exampleOf(Mail)).toEqual({
      id: 'm1',
      from: null,
      status: 'SENT',
      sentAt: null,
      headers: {},
    });
  });

  it('refuses every invalid text', () => {
    expect(() => exampleOf(z.object({ name: z.string() }))).toThrow('no example');
  });
});

describe('columnsFrom', () => {
  it('names the columns and leaves out what is not given', () => {
    const columns: { from_name?: string | null; data: object } = columnsFrom({
      fromName: undefined as string | null | undefined,
      data: { lastName: 'x' },
    });
    expect(columns).toEqual({ data: { lastName: 'x' } });
    expect(columnsFrom({ fromName: null })).toEqual({ from_name: null });
  });
});
