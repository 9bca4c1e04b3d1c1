import { describe, expect, it } from 'vitest';
import {
  containsOptOutLink,
  primaryLanguage,
  wrapDocument,
} from '../../../domain/template/html.ts';
import { footerHtml, withFooter } from '../../../domain/mail/content.ts';
import { type ClassHeadersInput, classHeaders } from '../../../domain/mail/headers.ts';

const id = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
const unsubscribeUrl = `https://api.example/unsubscribe/${id}?e=1`;

describe('footer', () => {
  it('speaks the language of the primary tag, else English', () => {
    expect(footerHtml('de-AT', 'u')).toBe(footerHtml('de', 'u'));
    expect(footerHtml('de-AT', 'u')).toContain('Abmelden');
    expect(footerHtml('PT_br', 'u')).toBe(footerHtml('pt', 'u'));
    for (const other of ['xx', '', '"><b>', 'dexx', '__proto__', 'constructor']) {
      expect(footerHtml(other, 'u')).toBe(footerHtml('en', 'u'));
    }
  });

  it('has eight languages, each with the link', () => {
    const languages = ['en', 'nl', 'fr', 'de', 'es', 'it', 'pt', 'pl'];
    const footers = languages.map((language) => footerHtml(language, unsubscribeUrl));
    expect(new Set(footers).size).toBe(8);
    for (const footer of footers) expect(footer).toContain(`href="${unsubscribeUrl}"`);
  });

  it.each([
    '<html><body><p>Hi</p>F</body></html><!-- end </body> of it -->',
    '<html><body><p>Hi</p>F</body></html>\n<!--\n<html><body><p>Old</p></body></html>\n-->',
    '<!-- </body> --><body>Hi F</body>',
    '<body>Hi<!--[if mso]></body><![endif]-->F</body>',
    '<body>Hi<!--[if !mso]><!--> x <!--<![endif]-->F</body>',
    '<body><script>"</body>"</script>F</body>',
    '<body><style>a::after{content:"</body>"}</style>F</body>',
    '<body><textarea></body></textarea>F</body>',
    '<body><img alt="</body>">F</body>',
    "<body><img alt='</body>' title=</body>F</body >",
    '<title></body></title><p>Hi</p>F',
    '<p>Hi</p><!-- </body> -->F',
    // An element or comment without an end hides everything after it.
    '<p>Hi</p>F<!-- </body>',
    '<p>Hi</p>F<style>p{} </body>',
    '<p>Hi</p>F<a href="',
  ])('stands where a reader sees it: %s', (html) => {
    const [before = '', after = ''] = html.split('F');
    expect(withFooter(before + after, 'F')).toBe(html);
  });

  it('stands before the last </body>, or at the end', () => {
    expect(withFooter('<body>a</body>b</BODY\n>c', 'F')).toBe('<body>a</body>bF</BODY\n>c');
    expect(withFooter('İa</body>', 'F')).toBe('İaF</body>');
    expect(withFooter('<p>a</p>', 'F')).toBe('<p>a</p>F');
    expect(withFooter('a</body>', '$&$1')).toBe('a$&$1</body>');
  });
});

describe('document', () => {
  it('wraps a body that is no document, and leaves one that is', () => {
    const wrapped = wrapDocument('<p>Hi</p>', 'de-AT');
    expect(wrapped).toMatch(/^<!doctype html>\n<html lang="de">/);
    expect(wrapped).toContain('\n<p>Hi</p>\n');
    expect(wrapDocument('<!DOCTYPE html><HTML><body>Hi', 'en')).toBe(
      '<!DOCTYPE html><HTML><body>Hi',
    );
  });

  it('lets no text of a locale into the document', () => {
    expect(primaryLanguage('"><script>')).toBe('');
    expect(wrapDocument('x', '"><script>')).toContain('<html lang="en">');
  });

  it('finds the opt-out link of this contact only', () => {
    expect(containsOptOutLink(`<a href="${unsubscribeUrl}">`, id)).toBe(true);
    expect(containsOptOutLink(`x/manage/${id}`, id)).toBe(true);
    expect(containsOptOutLink(`x/subscribe/${id}`, id)).toBe(false);
    expect(containsOptOutLink('x/unsubscribe/other', id)).toBe(false);
  });
});

describe('headers of a message class', () => {
  const optOut = {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
  const bulk = {
    Precedence: 'bulk',
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
  };
  function headers(input: Partial<ClassHeadersInput>): Record<string, string> {
    const list = classHeaders({
      messageClass: 'TRANSACTIONAL',
      sourceType: 'TRANSACTIONAL',
      body: 'Hi',
      contactId: id,
      unsubscribeUrl,
      ...input,
    });
    expect(new Set(list.map(({ name }) => name.toLowerCase())).size).toBe(list.length);
    return Object.fromEntries(list.map(({ name, value }) => [name, value]));
  }

  it('gives marketing mail all of them, whatever its source', () => {
    for (const sourceType of ['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW'] as const) {
      expect(headers({ messageClass: 'MARKETING', sourceType })).toEqual({ ...optOut, ...bulk });
    }
  });

  it('gives other mail the opt-out headers only with a link, and the bulk marks only in campaigns', () => {
    for (const messageClass of ['TRANSACTIONAL', 'HEADLESS'] as const) {
      expect(headers({ messageClass })).toEqual({});
      expect(headers({ messageClass, body: unsubscribeUrl })).toEqual(optOut);
      expect(headers({ messageClass, sourceType: 'WORKFLOW' })).toEqual({});
      expect(headers({ messageClass, sourceType: 'CAMPAIGN' })).toEqual(bulk);
    }
  });

  it('lets a custom header of any case win, and one opt-out header replace both', () => {
    const own = { 'list-unsubscribe': '<mailto:u@x.example>' };
    expect(headers({ messageClass: 'MARKETING', customHeaders: own })).toEqual({ ...bulk, ...own });
    const post = { 'LIST-UNSUBSCRIBE-POST': 'x' };
    expect(headers({ messageClass: 'MARKETING', customHeaders: post })).toEqual({
      ...bulk,
      ...post,
    });
    const rest = { PRECEDENCE: 'list', 'X-A': '1', 'x-a': '2' };
    expect(headers({ messageClass: 'MARKETING', customHeaders: rest })).toEqual({
      ...optOut,
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      PRECEDENCE: 'list',
      'x-a': '2',
    });
  });
});
