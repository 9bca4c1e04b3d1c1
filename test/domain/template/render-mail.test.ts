import { describe, expect, it } from 'vitest';
import { completeMail, type MailToRender, renderMailWith } from '../../../domain/mail/content.ts';
import { compileTemplate, renderTemplate, type Renderer } from '../../../domain/template/render.ts';
import { variables } from './rendering.ts';

const renderer: Renderer = {
  render: async (kind, template, given) => renderTemplate(kind, template, given),
  renderTexts: async (sources, given) =>
    sources.map((source) => renderTemplate('text', compileTemplate(source), given)),
};
const badge = 'Sent with Everpost';

const mail = (messageClass: MailToRender['messageClass'], hasBadge?: boolean): MailToRender => ({
  subject: compileTemplate('Hi {{name}}'),
  body: compileTemplate('<html><body><p>{{name}}</p></body></html>'),
  messageClass,
  sourceType: 'TRANSACTIONAL',
  variables: variables({ name: 'Ada' }),
  ...(hasBadge === undefined ? {} : { hasBadge }),
});

describe('the badge', () => {
  it.each(['TRANSACTIONAL', 'MARKETING'] as const)('is in %s mail that asks for it', async (c) => {
    const { body } = (await renderMailWith(renderer, mail(c, true))).content;
    expect(body).toContain(badge);
    // Inside the document, after everything else.
    expect(body.endsWith('</div></body></html>')).toBe(true);
    expect(body.indexOf(badge)).toBeGreaterThan(body.lastIndexOf('</p>'));
  });

  it('is in no other mail', async () => {
    for (const content of [
      mail('HEADLESS', true),
      mail('TRANSACTIONAL'),
      mail('MARKETING', false),
    ]) {
      expect((await renderMailWith(renderer, content)).content.body).not.toContain(badge);
    }
  });
});

describe('the texts of a mail', () => {
  it('stay as they are in transactional and headless mail', async () => {
    for (const messageClass of ['TRANSACTIONAL', 'HEADLESS'] as const) {
      expect(await renderMailWith(renderer, mail(messageClass))).toMatchObject({
        content: { subject: 'Hi Ada', body: '<html><body><p>Ada</p></body></html>', headers: [] },
        warnings: [],
      });
    }
  });

  it('get a footer with the opt-out link in marketing, also where the body has one', () => {
    const { urls } = variables();
    const given = `<p>${urls.unsubscribeUrl}</p>`;
    const { body, headers } = completeMail(mail('MARKETING'), 's', given);
    expect(body.startsWith(given)).toBe(true);
    expect(body.split('/unsubscribe/')).toHaveLength(3);
    expect(headers.map(({ name }) => name)).toContain('List-Unsubscribe');
  });
});
