import { expect } from 'vitest';
import type { TestAnswer, TestApi } from '../api.ts';

/** A project that is changed by files. */
export interface FileShop {
  id: string;
  secretKey: string;
  publicKey: string;
  cookie: string;
  call: (method: string, path: string, body?: unknown) => ReturnType<TestApi['request']>;
  /** Creates an object. Returns its id. */
  make: (path: string, body: object) => Promise<string>;
  files: (query?: string) => Promise<FileSet>;
  /** Makes a plan, which must succeed. */
  plan: (files: Record<string, string>, more?: object) => Promise<TestAnswer['body']>;
  /** Makes a plan that must be refused. Returns the field and the code of each problem. */
  refused: (files: Record<string, string>, more?: object) => Promise<[string, string][]>;
}

interface FileSet {
  project: { id: string; name: string };
  files: Record<string, string>;
  objects: { kind: string; key: string; id: string | null; name: string; path: string }[];
}

export async function openFileShop(api: TestApi): Promise<FileShop> {
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie, 'Shop');
  const { id, secretKey, publicKey } = project;
  const call: FileShop['call'] = (method, path, body) =>
    api.request(method, path, { key: secretKey, ...(body === undefined ? {} : { body }) });
  const succeed = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body);
    expect([answer.status < 300, answer.body?.error ?? null]).toEqual([true, null]);
    return answer.body;
  };
  return {
    id,
    secretKey,
    publicKey,
    cookie,
    call,
    make: async (path, body) => (await succeed('POST', path, body)).id,
    files: (query = '') => succeed('GET', `/files${query}`),
    plan: (files, more = {}) => succeed('POST', '/plan', { files, ...more }),
    async refused(files, more = {}) {
      const { status, body } = await call('POST', '/plan', { files, ...more });
      expect([status, body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
      return body.error.errors.map((one: { field: string; code: string }) => [one.field, one.code]);
    },
  };
}
