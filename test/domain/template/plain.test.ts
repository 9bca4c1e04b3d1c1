import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, renderTemplate } from '../../../domain/template/render.ts';
import { variables } from './rendering.ts';

const name = fc.oneof(
  fc.constantFrom('name', 'city', 'id', 'email', 'locale', 'subscribed', 'unsubscribeUrl'),
  fc.constantFrom('true', 'nil', 'blank', 'empty', 'size', 'first', 'last', 'data', 'event', 'and'),
  fc.constantFrom('a-b', 'a?', '5', '5a', '_x', 'ä', 'svc_id', 'constructor', '__proto__', 'a b'),
);
const fallback = fc.constantFrom('', ' ?? you', ' ?? "a, b"', ' ?? <b>', ' ?? ');
const piece = fc.oneof(
  fc.constantFrom('Hello ', '<p title="x">', ' -', '\n', '} }', '{ {', '%}', '&amp;'),
  fc.tuple(
    fc.constantFrom('{{', '{{ ', '{{- '),
    name,
    fallback,
    fc.constantFrom('}}', ' }}', ' -}}'),
  ),
);
const value = fc.oneof(
  fc.constantFrom('Ada', '', ' ', '<b>&"', '{{name}}', 0, -1.5, 1e21, true, false, null, 'ä\n'),
  fc.constantFrom([], ['a', '<b>'], {}, { a: '<b>' }),
);
const data = fc.dictionary(name, value, { maxKeys: 4 });

describe('a template of plain names', () => {
  it.each(['html', 'text', 'subject'] as const)('renders as Liquid does: %s', (kind) => {
    let plain = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), data, (pieces, contactData) => {
        const source = pieces.flat().join('');
        const template = compileTemplate(source);
        if (!template.plain) return;
        plain += 1;
        // With a tag, the template is no longer plain.
        const byLiquid = compileTemplate(`${source}\n{% if false %}{% endif %}`);
        expect(byLiquid.plain).toBeNull();
        const given = variables(contactData);
        const expected = renderTemplate(kind, byLiquid, given).text;
        const end = kind === 'subject' ? '' : '\n';
        expect(renderTemplate(kind, template, given).text + end).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
    expect(plain).toBeGreaterThan(100);
  });
});
