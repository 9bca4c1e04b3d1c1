import { describe, expect, it } from 'vitest';
import { compileTemplate, type Renderer, renderTemplate } from '../../../domain/template/render.ts';
import { renderedUpdates } from '../../../domain/workflow/steps/update-contact.ts';
import { variables } from '../template/rendering.ts';

const renderer: Renderer = {
  render: async (kind, template, given) => renderTemplate(kind, template, given),
  renderTexts: async (sources, given) =>
    sources.map((source) => renderTemplate('text', compileTemplate(source), given)),
};

const wrapper = { value: 'x', persistent: false };
const data = { visits: 2, name: 'Ada', tags: ['a', 'b'], vip: false, wrapper, half: '\ud83d' };
const rendered = (updates: Record<string, unknown>) =>
  renderedUpdates(updates, variables(data), renderer);

describe('the updates of UPDATE_CONTACT', () => {
  it('keep the type of one expression alone', async () => {
    expect(
      await rendered({
        n: '{{ visits | plus: 1 }}',
        l: '{{tags}}',
        b: '{{vip}}',
        t: '{{visits}}!',
        first: '{{ tags | first }}',
        size: { value: '{{ tags | size }}', persistent: true },
      }),
    ).toEqual({
      n: 3,
      l: ['a', 'b'],
      b: false,
      t: '2!',
      first: 'a',
      size: { value: 2, persistent: true },
    });
  });

  it('are rendered inside lists and objects, keys as written', async () => {
    expect(
      await rendered({ '{{a}}': { '{{b}}': ['{{name}}', 1, null, { deep: '{{tags}}' }] } }),
    ).toEqual({ '{{a}}': { '{{b}}': ['Ada', 1, null, { deep: ['a', 'b'] }] } });
  });

  it('delete nothing when a value is missing', async () => {
    expect(
      await rendered({ a: '{{nope}}', b: '{{ nope.x }}', c: '{{ 1 | divided_by: 0 }}' }),
    ).toEqual({ a: '', b: '', c: 'null' });
  });

  it('store a value that looks like a wrapper as it is', async () => {
    expect(await rendered({ w: '{{wrapper}}', l: '{{half}}' })).toEqual({
      w: { value: wrapper, persistent: true },
      l: '\ufffd',
    });
  });
});
