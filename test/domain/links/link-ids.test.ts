import { describe, expect, it } from 'vitest';
import { linkIdOf, takeMarks, withMarkedLinks } from '../../../domain/links/link-ids.ts';
import { mailSkeleton } from '../../../domain/mail/skeleton.ts';
import { type TrackedLink, withTracking } from '../../../domain/links/tracking.ts';
import { renderMailWith } from '../../../domain/mail/content.ts';
import { compileTemplate, renderTemplate, type Renderer } from '../../../domain/template/render.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';
import { variables } from '../template/rendering.ts';

const renderer: Renderer = {
  render: async (kind, template, given) => renderTemplate(kind, template, given),
  renderTexts: async (sources, given) =>
    sources.map((source) => renderTemplate('text', compileTemplate(source), given)),
};

/** Renders a body for one contact. Returns the tracked links of the mail, and the stored body. */
async function linksIn(body: string, data: Record<string, unknown> = {}) {
  const { content } = await renderMailWith(renderer, {
    subject: compileTemplate('Hi'),
    body: compileTemplate(body),
    messageClass: 'TRANSACTIONAL',
    sourceType: 'WORKFLOW',
    variables: variables(data),
  });
  const links: TrackedLink[] = [];
  const clickUrl = (link: TrackedLink) => (links.push(link), link.target);
  withTracking(content.body, { pixelUrl: 'data:,', clickUrl }, content.link_ids);
  return { links, body: content.body };
}

describe('the id of a link', () => {
  it('is made from what the author wrote, not from the target of one recipient', async () => {
    const body = '<p>{{name}}</p><a href="https://shop.test/?u={{code}}&amp;x=1">x</a>';
    const [ada, bob] = [await linksIn(body, { code: 'ada' }), await linksIn(body, { code: 'bob' })];
    expect(ada.links.map(({ target }) => target)).toEqual(['https://shop.test/?u=ada&x=1']);
    expect(bob.links.map(({ target }) => target)).toEqual(['https://shop.test/?u=bob&x=1']);
    const id = linkIdOf('https://shop.test/?u={{code}}&x=1');
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect([ada.links[0]!.linkId, bob.links[0]!.linkId]).toEqual([id, id]);
    expect(ada.body).toBe('<p></p><a href="https://shop.test/?u=ada&amp;x=1">x</a>');
  });

  it.each([
    ['a plain link', '<a href=https://shop.test/>x</a>', ['https://shop.test/']],
    ['a whole address', "<a class=x href='{{url}}'>x</a>", ['{{url}}']],
    [
      'a loop',
      '{% for i in n %}<a href="https://s.test/{{i}}">x</a>{% endfor %}',
      'https://s.test/{{i}}',
    ],
    ['a bare address', '<a href=https://s.test/{{ b }}>x</a>', ['https://s.test/{{ b }}']],
    [
      'a placeholder with quotes',
      '<a href="https://s.test/{{ c | default: "z" }}">x</a>',
      ['https://s.test/{{ c | default: "z" }}'],
    ],
    [
      'a condition in the address',
      '<a href="https://s.test/{% if name %}a{% else %}b{% endif %}">x</a>',
      ['https://s.test/{% if name %}a{% else %}b{% endif %}'],
    ],
    [
      'a link beside others',
      '<a href="mailto:{{name}}">m</a><a href="https://s.test/a">a</a><a href="https://s.test/{{b}}">b</a>',
      ['https://s.test/a', 'https://s.test/{{b}}'],
    ],
  ])('of %s', async (_, body, expected) => {
    const data = { url: 'https://shop.test/x', n: [1, 2], name: 'x', b: 'y' };
    const { links } = await linksIn(body, data);
    const texts = typeof expected === 'string' ? [expected, expected] : expected;
    expect(links.map(({ linkId }) => linkId)).toEqual(texts.map(linkIdOf));
    const count = new Set(texts).size;
    expect(links.map(({ linkCount }) => linkCount)).toEqual(texts.map(() => count));
  });

  it.each([
    '<a href={{ url }}>x</a>',
    '<a href="{{ url | default: "https://shop.test/x" }}">x</a>',
    '{{ "<a href=\'https://s.test/{{x}}\'>" }}',
    '<a {% if url %}href="{{url}}"{% endif %}>x</a>',
    '{% raw %}<a href="https://s.test/{{x}}">x</a>{% endraw %}',
    '{% comment %}<a href="https://s.test/{{x}}">x</a>{% endcomment %}',
    '<a href="https://s.test/{{x">x</a>',
  ])('never changes what a template says: %s', async (body) => {
    const data = { url: 'https://shop.test/x' };
    const rendered = await renderer.render('html', compileTemplate(body), variables(data));
    expect((await linksIn(body, data)).body).toBe(rendered.text);
  });

  it('is the same in the shared part of a campaign', async () => {
    const body = '<a href="https://s.test/a">a</a> <a href="https://s.test/{{code}}">b</a>';
    const whole = await linksIn(body, { code: 'ada' });
    const skeleton = mailSkeleton({
      template: compileTemplate(body),
      messageClass: 'TRANSACTIONAL',
      locale: 'en',
      hasBadge: false,
      trackingUrl: 'https://api.test',
      apiUrl: 'https://api.test',
      topicKey: null,
      sampleRecipient: {
        contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
        emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
        mark: 'k3j9q0z8',
      },
      textOf: (html) => html,
      utm: null,
    })!;
    const shared = [...skeleton.fixedLinks.values(), ...skeleton.links.values()];
    expect(shared.map(({ linkId, linkCount }) => [linkId, linkCount])).toEqual(
      whole.links.map(({ linkId, linkCount }) => [linkId, linkCount]),
    );
    expect(JSON.stringify([skeleton.body, skeleton.html, skeleton.text])).not.toContain(
      'data-everpost',
    );
  });
});

it('leaves a template without variables in links as it is', () => {
  const template = compileTemplate('<p>{{name}}</p><a href="https://s.test/">x</a>');
  expect(withMarkedLinks(template)).toBe(template);
  expect(takeMarks('<a href="x">').linkIds).toBeNull();
});

it('takes no longer for what was made to take longer', () => {
  const started = cpuMs();
  for (const piece of ['{{a}}<a href="{{b}}">', 'href={{', '<a href="{{', '{% raw %}<a href="']) {
    withMarkedLinks(compileTemplate(piece.repeat(20_000)));
  }
  expect(cpuMs() - started).toBeLessThan(3_000);
});
