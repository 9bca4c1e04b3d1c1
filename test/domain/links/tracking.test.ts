import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readTrackedLink,
  type TrackedLink,
  trackingLinks,
  withTracking,
} from '../../../domain/links/tracking.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';
import { linkTo } from '../../support/tracked-link.ts';

const emailId = 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21';
const contactId = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
/** Puts the target into the address, so that the test sees the target. */
const links = {
  pixelUrl: 'https://t.test/p.gif',
  clickUrl: ({ target }: TrackedLink) => `T(${target})`,
};
const pixel =
  '<img src="https://t.test/p.gif" width="1" height="1" alt="" style="border:0;width:1px;height:1px;">';
const tracked = (html: string) => withTracking(html, links).replace(pixel, '');

describe('links', () => {
  it.each([
    ['<a href="https://shop.test/a?b=1">', '<a href="T(https://shop.test/a?b=1)">'],
    ["<A class=x HREF='http://shop.test/'>", "<A class=x HREF='T(http://shop.test/)'>"],
    ['<a href=https://shop.test/a/>x</a>', '<a href="T(https://shop.test/a/)">x</a>'],
    ['<a\nhref = "https://shop.test/"\n>', '<a\nhref = "T(https://shop.test/)"\n>'],
    ['<a href="  https://shop.test/a\n b ">', '<a href="T(https://shop.test/a b)">'],
    ['<a title="a > b" href="https://s.test">', '<a title="a > b" href="T(https://s.test)">'],
    [
      '<a href="https://s.test/1" href="https://s.test/2">',
      '<a href="T(https://s.test/1)" href="https://s.test/2">',
    ],
    ['<a href="https://s.test/1"href2="x">', '<a href="T(https://s.test/1)"href2="x">'],
  ])('rewrites %j', (html, expected) => {
    expect(tracked(html)).toBe(expected);
  });

  it.each([
    ['<a href="https://s.test/?a=1&amp;b=2">', 'https://s.test/?a=1&b=2'],
    ['<a href="https://s.test/?a=1&b=2&copy=3&c">', 'https://s.test/?a=1&b=2&copy=3&c'],
    ['<a href="https://s.test/?q=&#x22;&#39;">', `https://s.test/?q="'`],
    ['<a href="https://s.test/ü">', 'https://s.test/ü'],
  ])('reads the address of %j as a browser does', (html, target) => {
    const targets: string[] = [];
    withTracking(html, { ...links, clickUrl: ({ target: url }) => (targets.push(url), url) });
    expect(targets).toEqual([target]);
  });

  it.each([
    ['an opt-out link', `<a href="https://api.test/unsubscribe/${contactId}?e=${emailId}">`],
    ['a link to subscribe', `<a href="https://api.test/subscribe/${contactId}?e=${emailId}">`],
    ['a link to manage', `<a href="https://api.test/manage/${contactId}?e=${emailId}">`],
    ['mail', '<a href="mailto:a@shop.test">'],
    ['a telephone', '<a href="tel:+49123">'],
    ['a place in the mail', '<a href="#top">'],
    ['what is marked', '<a href="https://shop.test" data-track="false">'],
    ['what is marked first', '<a data-track=FALSE href="https://shop.test">'],
    ['a relative link', '<a href="/a">'],
    ['no link', '<a name="x">'],
    ['an empty link', '<a href>'],
    ['another scheme', '<a href="javascript:https://shop.test">'],
    ['an address that is none', '<a href="https://">'],
    ['an address too long for a request', `<a href="https://s.test/${'a'.repeat(4_096)}">`],
    ['a reference it does not know', '<a href="https://s.test/?a&eacute;">'],
    ['another element', '<link href="https://shop.test"><abbr href="https://shop.test">'],
    ['a comment', '<!-- <a href="https://shop.test"> -->'],
    ['a conditional comment', '<!--[if mso]><a href="https://shop.test"><![endif]-->'],
    ['a script', '<script>"<a href=\'https://shop.test\'>"</script>'],
    ['a style', '<style><a href="https://shop.test"></style>'],
    ['a title', '<title><a href="https://shop.test"></title>'],
    ['the value of another attribute', `<p title='<a href="https://shop.test">'>`],
    ['text', 'a < b <3 <a'],
    ['a tag that never ends', '<p>x <a href="https://shop.test" x'],
    ['a value that never ends', '<a href="https://shop.test>x</a>'],
  ])('leaves %s alone', (_, html) => {
    expect(tracked(html)).toBe(html);
  });

  it('goes on after a comment, a script and a bare bracket', () => {
    const link = '<a href="https://s.test">';
    for (const before of ['<!-->', '<!--->', '<!-- --!>', '<![if !mso]>', '<?x >', '</>', '< ']) {
      expect(tracked(before + link)).toBe(`${before}<a href="T(https://s.test)">`);
    }
    expect(tracked(`<SCRIPT>1</script >${link}`)).toContain('T(');
  });

  it('changes nothing of other text, whatever it is', () => {
    const pieces = [
      '< > " \' = / ! \n a -- href href="https://s.test" </a> <!-- --> <script> </script> &amp; </body> ü',
      '<p title=" <a/href="https://s.test/?a=1&amp;b"> <a/href=https://s.test> \u{1f600}',
    ].flatMap((line) => [' ', ...line.split(' ')]);
    const piece = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (chosen) => {
        const html = chosen.join('');
        const targets: string[] = [];
        const clickUrl = ({ target }: TrackedLink) => `#${targets.push(target) - 1}#`;
        const result = withTracking(html, { ...links, clickUrl }).replace(pixel, '');
        // Replacing the links by their targets gives the original; bare targets are quoted now.
        const plain = (text: string) => text.replaceAll(/["']/g, '').replaceAll('&amp;', '&');
        const undone = plain(result).replaceAll(/#(\d+)#/g, (_, index) => targets[Number(index)]!);
        expect(undone).toBe(plain(html));
      }),
    );
  });

  it('takes time in proportion to the length of what was made to take longer', () => {
    const started = cpuMs();
    for (const piece of [
      '<a href=',
      '<!--',
      '<script>',
      '<a href="',
      '<',
      '</a',
      '<a a=1 ',
      '&#',
      ' ',
      '\t',
    ]) {
      const long = piece.repeat(200_000);
      withTracking(long, links);
      withTracking(`<a href='https://s.test/${long}x'>`, links);
    }
    expect(cpuMs() - started).toBeLessThan(5_000);
  });
});

describe('the pixel', () => {
  it.each([
    ['<html><body>x</body></html>', `<html><body>x${pixel}</body></html>`],
    ['<p>x</p>', `<p>x</p>${pixel}`],
    ['<body>a</body><body>b</BODY >', `<body>a</body><body>b${pixel}</BODY >`],
    ['<body>x<!-- </body> --></body>', `<body>x<!-- </body> -->${pixel}</body>`],
    ['<p>x</p><!-- never closed', `<p>x</p>${pixel}<!-- never closed`],
    ['<p>x</p><a href="never closed', `<p>x</p>${pixel}<a href="never closed`],
    ['', pixel],
  ])('stands where it is seen in %j', (html, expected) => {
    expect(withTracking(html, links)).toBe(expected);
  });
});

describe('the address of a link', () => {
  const signed = trackingLinks('https://api.test', emailId, (text) => `signature-${text.length}`);

  it('names the message, the target and a signature over both', () => {
    const link = linkTo('https://shop.test/ü?a=1&b=2');
    const url = new URL(signed.clickUrl(link));
    expect(url.pathname).toBe(`/t/c/${emailId}`);
    const [u, l] = [url.searchParams.get('u')!, url.searchParams.get('l')!];
    expect(readTrackedLink(emailId, { u, l })).toEqual({
      link,
      signed: `${emailId} ${link.linkId}.1 ${link.target}`,
    });
    expect(url.searchParams.get('s')).toMatch(/^signature-\d+$/);
    expect(signed.pixelUrl).toBe(`https://api.test/t/o/${emailId}.gif?s=signature-36`);
  });

  it.each(['', '*', 'a', '_w', 'gICA'])('with the target %j is none', (u) => {
    expect(readTrackedLink(emailId, { u, l: '00112233445566ff.1' })).toBeNull();
  });

  it.each(['', 'x', '00112233445566ff', '00112233445566FF.1', '00112233445566ff.-1'])(
    'with the id %j is none',
    (l) => {
      expect(readTrackedLink(emailId, { u: 'aHR0cHM6Ly9zLnRlc3Q', l })).toBeNull();
    },
  );
});
