import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../api/endpoints.ts';
import { errorBody } from '../api/http/envelope.ts';
import { Problem, type ProblemCode, problems } from '../domain/errors.ts';

const codes = Object.keys(problems) as ProblemCode[];
const suggestionOf = (code: ProblemCode) => errorBody(new Problem(code), 'r').error.suggestion;
const settings = readFileSync(join(import.meta.dirname, '../docs/configuration.md'), 'utf8');
const routes = new Set(endpoints.map(({ method, path }) => `${method} ${path}`));

describe('what an error suggests', () => {
  it.each(codes)('for %s is a sentence, and more than its message', (code) => {
    expect(suggestionOf(code)).toMatch(/^[A-Z].{10,}\.$/);
    expect(suggestionOf(code)).not.toBe(problems[code][1]);
  });

  it.each(codes)('for %s names what there is', (code) => {
    const suggestion = suggestionOf(code);
    for (const [named] of suggestion.matchAll(/(?:GET|POST|PUT|PATCH|DELETE) \/[\w/{}@-]+/g)) {
      expect(routes).toContain(named);
    }
    for (const [named] of suggestion.matchAll(/\b(?:STRIPE|STORAGE)_\w+/g)) {
      expect(settings).toContain(`\`${named}\``);
    }
  });

  it('is the advice of the cause, if the code has several causes', () => {
    const suggestion = 'Send less at once.';
    const slow = new Problem('INVALID_REQUEST_BODY', { suggestion });
    expect(errorBody(slow, 'r').error.suggestion).toBe(suggestion);
  });

  it('does not send to an owner of the project who cannot help', () => {
    const sent = codes.filter((code) => suggestionOf(code).includes('owner of the project'));
    expect(sent).toEqual(['PROJECT_ACCESS_DENIED', 'INSUFFICIENT_ROLE']);
  });
});
