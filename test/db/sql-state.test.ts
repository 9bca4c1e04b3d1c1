import { expect, it } from 'vitest';
import { isConnectionRefused } from '../../db/sql-state.ts';

const errorOf = (code: string) => Object.assign(new Error('It failed.'), { code });

it.each(['ECONNREFUSED', 'ENOTFOUND', '57P03', '28P01', '3D000'])(
  'finds that PostgreSQL refuses the connection: %s',
  (code) => expect(isConnectionRefused(errorOf(code))).toBe(true),
);

it.each(['55P03', '57014', '40P01', '40001', '23505'])(
  'finds that a statement failed on an open connection: %s',
  (code) => expect(isConnectionRefused(errorOf(code))).toBe(false),
);
