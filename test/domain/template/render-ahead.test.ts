import { expect, it } from 'vitest';
import { compileTemplate, type Renderer, renderTemplate } from '../../../domain/template/render.ts';
import { renderAhead } from '../../../domain/template/render-ahead.ts';
import { variables } from './rendering.ts';

const renderer: Renderer = {
  render: async (kind, template, values) => renderTemplate(kind, template, values),
  renderTexts: async (sources, values) =>
    sources.map((source) => renderTemplate('text', compileTemplate(source), values)),
};
const costly = compileTemplate('{% for n in (1..2) %}{{n}}{{name}}{% endfor %}');
const cheap = compileTemplate('Hi {{name}}');

/**
 * Renders with the next of the values each time it begins. Returns the text, and how often it
 * began.
 */
async function rendered(template: typeof costly, names: string[]) {
  let begun = 0;
  const text = await renderAhead(renderer, async ({ render }) => {
    const name = names[begun] ?? names.at(-1)!;
    begun += 1;
    return (await render('html', template, variables({ name }))).text;
  });
  return { text, begun };
}

it('begins anew for a costly text, not for a cheap one', async () => {
  expect(await rendered(cheap, ['Ada'])).toEqual({ text: 'Hi Ada', begun: 1 });
  expect(await rendered(costly, ['Ada'])).toEqual({ text: '1Ada2Ada', begun: 2 });
});

it('makes the text again when its values have changed meanwhile', async () => {
  expect(await rendered(costly, ['Ada', 'Bo'])).toEqual({ text: '1Bo2Bo', begun: 3 });
});

it('renders inside in the end when the values change every time', async () => {
  expect(await rendered(costly, ['a', 'b', 'c', 'd'])).toEqual({ text: '1d2d', begun: 4 });
});

it('makes all texts that are asked for together in one go', async () => {
  let begun = 0;
  const texts = await renderAhead(renderer, async ({ render }) => {
    begun += 1;
    const rendering = ['Ada', 'Bo'].map((name) => render('html', costly, variables({ name })));
    return (await Promise.all(rendering)).map(({ text }) => text);
  });
  expect([texts, begun]).toEqual([['1Ada2Ada', '1Bo2Bo'], 2]);
});

it('ends with the failure of the work', async () => {
  const work = () => Promise.reject(new Error('no'));
  await expect(renderAhead(renderer, work)).rejects.toThrow('no');
});
