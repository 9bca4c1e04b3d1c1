import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];
const file = (more: object = {}) => ({
  filename: 'a.txt',
  content: 'aGk=',
  contentType: 'text/plain',
  ...more,
});

describe('to', () => {
  it.each([
    ['nothing', undefined, 'to invalid_type'],
    ['null', null, 'to invalid_type'],
    ['a number', 5, 'to invalid_type'],
    ['no address', 'bad', 'to invalid_string'],
    ['an address with a line break', 'a@x.test\nBcc: b@x.test', 'to invalid_string'],
    ['an object without address', { name: 'x' }, 'to.email invalid_type'],
    ['an object with no address', { email: 'bad' }, 'to.email invalid_string'],
    ['a list with a bad address', ['a@x.test', 'bad'], 'to.1 invalid_string'],
    ['a list with a bad object', [{ email: 'bad' }], 'to.0.email invalid_string'],
    ['a list in a list', [['a@x.test']], 'to.0 invalid_type'],
    ['a list with null', [null], 'to.0 invalid_type'],
    ['a name of two lines', { name: 'a\nb', email: 'a@x.test' }, 'to.name invalid_string'],
    ['a name of 101 characters', { name: 'x'.repeat(101), email: 'a@x.test' }, 'to.name too_big'],
  ])('that is %s is refused', async (_kind, to, fault) => {
    expect(refusal(await shop.send({ to }))).toEqual(invalid(fault));
  });

  it('takes up to 1000 recipients', async () => {
    const refused = await shop.send({ to: Array.from({ length: 1001 }, () => 'a@x.test') });
    expect(refusal(refused)).toEqual(invalid('to too_big'));
  });

  it('with one bad address among good ones sends nothing', async () => {
    const to = newAddress();
    await shop.send({ to: [to, 'bad'] });
    expect([await shop.contact(to), await shop.emailsTo(to)]).toEqual([undefined, []]);
  });
});

describe('the content', () => {
  it.each([
    ['nothing', {}],
    ['a subject alone', { subject: 's' }],
    ['a body alone', { body: 'b' }],
  ])('that is %s is refused for the field template', async (_kind, given) => {
    const request = { to: 'a@x.test', subject: undefined, body: undefined, ...given };
    expect(refusal(await shop.send(request))).toEqual(invalid('template custom'));
  });

  it.each([
    [{ subject: 'a\nb' }, 'subject invalid_string'],
    [{ subject: 'a\rb' }, 'subject invalid_string'],
    [{ subject: '' }, 'subject too_small'],
    [{ subject: 'x'.repeat(999) }, 'subject too_big'],
    [{ body: '' }, 'body too_small'],
    [{ body: 5 }, 'body invalid_type'],
    [{ template: 'x' }, 'template invalid_string'],
    [{ subject: null }, 'subject invalid_type'],
  ])('of %j is refused', async (given, fault) => {
    expect(refusal(await shop.send({ to: 'a@x.test', ...given }))).toEqual(invalid(fault));
  });

  it('may have a subject of 998 characters', async () => {
    const [to, subject] = [newAddress(), 'x'.repeat(998)];
    expect((await shop.send({ to, subject })).status).toBe(200);
    expect((await shop.emailsTo(to))[0]!.subject).toBe(subject);
  });

  it('that is no correct Liquid is sent as it is', async () => {
    const to = newAddress();
    expect((await shop.send({ to, body: '{% if x %}{{email}}' })).status).toBe(200);
    expect((await shop.emailsTo(to))[0]!.body).toBe(`{% if x %}${to}`);
  });
});

describe('the other fields', () => {
  it.each([
    [{ from: 'bad' }, 'from invalid_string'],
    [{ from: { name: 'x' } }, 'from.email invalid_type'],
    [{ from: { email: 'bad' } }, 'from.email invalid_string'],
    [{ from: { name: 'a\r\nb', email: 'a@x.test' } }, 'from.name invalid_string'],
    [{ from: { name: 'x'.repeat(101), email: 'a@x.test' } }, 'from.name too_big'],
    [{ from: ['a@x.test'] }, 'from invalid_type'],
    [{ name: 'a\nb' }, 'name invalid_string'],
    [{ reply: 'bad' }, 'reply invalid_string'],
    [{ subscribed: 'yes' }, 'subscribed invalid_type'],
    [{ data: [] }, 'data invalid_type'],
    [{ data: 'x' }, 'data invalid_type'],
    [{ data: 5 }, 'data invalid_type'],
    [{ data: { k: 'a\u0000b' } }, 'data.k invalid_string'],
    [{ data: { k: { deep: ['\ud800'] } } }, 'data.k.deep.0 invalid_string'],
    [{ data: { '\udc00': 1 } }, 'data.\udc00 invalid_string'],
  ])('refuse %j', async (given, fault) => {
    // A lone surrogate reaches the server as it does in JSON text: as an escape.
    expect(refusal(await shop.send({ to: 'a@x.test', ...given }))).toEqual(invalid(fault));
  });

  it.each([
    ['a sender with a field of its own', { email: 'team@' }],
    ['the sender of the template', undefined],
  ])('take any name beside %s: it means nothing there', async (_what, sender) => {
    const template = await shop.createTemplate();
    const from = sender && { email: `${sender.email}${shop.domain}` };
    for (const name of ['x'.repeat(101), 5]) {
      const given = { template, from, subject: undefined, body: undefined, name };
      expect((await shop.send({ to: newAddress(), ...given })).status).toBe(200);
    }
  });

  it('are judged all at once', async () => {
    const answer = await shop.send({ to: ['bad'], subject: '', reply: 'bad' });
    expect(refusal(answer)).toEqual(
      invalid('to.0 invalid_string', 'subject too_small', 'reply invalid_string'),
    );
  });

  it.each([
    5,
    true,
    ['de'],
    {},
    { value: 'de' },
    { value: 'de', persistent: 'yes' },
    { value: 5, persistent: true },
    { value: 5, persistent: false },
  ])('refuse data.locale that is %j, everywhere', async (locale) => {
    const data = { locale };
    const email = newAddress();
    for (const answer of [
      await shop.send({ to: email, data }),
      await shop.track({ email, data }),
      await shop.call('POST', '/contacts', { email, data }),
    ]) {
      expect(refusal(answer)).toEqual(invalid('data.locale invalid_type'));
    }
    expect(await shop.contact(email)).toBeUndefined();
  });

  it.each(['de', '', null, { value: 'de', persistent: false }, { value: null, persistent: true }])(
    'take data.locale that is %j',
    async (locale) => {
      expect((await shop.send({ to: newAddress(), data: { locale } })).status).toBe(200);
    },
  );
});

describe('headers', () => {
  it.each([
    [{ 'X-A': 'b\r\nBcc: x@y.test' }, 'headers.X-A invalid_string'],
    [{ 'X-A': 'b\nc' }, 'headers.X-A invalid_string'],
    [{ 'X-A': 'x'.repeat(999) }, 'headers.X-A too_big'],
    [{ 'X-A': 5 }, 'headers.X-A invalid_type'],
    [{ 'X-A': null }, 'headers.X-A invalid_type'],
    [{ '': 'x' }, 'headers. invalid_string'],
    [{ 'X A': 'x' }, 'headers.X A invalid_string'],
    [{ 'X-A:': 'x' }, 'headers.X-A: invalid_string'],
    [{ 'X-Ä': 'x' }, 'headers.X-Ä invalid_string'],
    [{ 'X-\u0001': 'x' }, 'headers.X-\u0001 invalid_string'],
    [{ ['X'.repeat(501)]: 'x' }, `headers.${'X'.repeat(501)} too_big`],
    [{ 'X\r\nBcc': 'x' }, 'headers.X\r\nBcc invalid_string'],
    ['X-A: 1', 'headers invalid_type'],
    [['X-A: 1'], 'headers invalid_type'],
  ])('of %j are refused', async (headers, fault) => {
    expect(refusal(await shop.send({ to: 'a@x.test', headers }))).toEqual(invalid(fault));
  });

  it('take a value of 998 characters', async () => {
    const headers = { 'X-A': 'x'.repeat(998), ['X'.repeat(500)]: 'x' };
    expect((await shop.send({ to: newAddress(), headers })).status).toBe(200);
  });
});

describe('attachments', () => {
  const refused = (given: object) => ({ attachments: [file(given)] });

  it.each([
    [refused({ filename: '' }), 'attachments.0.filename too_small'],
    [refused({ filename: 'x'.repeat(256) }), 'attachments.0.filename too_big'],
    [refused({ filename: 'a"b' }), 'attachments.0.filename invalid_string'],
    [refused({ filename: 'a\nb' }), 'attachments.0.filename invalid_string'],
    [refused({ filename: undefined }), 'attachments.0.filename invalid_type'],
    [refused({ content: '' }), 'attachments.0.content too_small'],
    [refused({ content: 'a' }), 'attachments.0.content invalid_string'],
    [refused({ content: '=' }), 'attachments.0.content invalid_string'],
    [refused({ content: '==' }), 'attachments.0.content invalid_string'],
    [refused({ content: 'aGk==' }), 'attachments.0.content invalid_string'],
    [refused({ content: 'aG=' }), 'attachments.0.content invalid_string'],
    [refused({ content: 'aGkh=' }), 'attachments.0.content invalid_string'],
    [refused({ content: 'aG k' }), 'attachments.0.content invalid_string'],
    [refused({ content: 'aG-_' }), 'attachments.0.content invalid_string'],
    [refused({ contentType: 'text' }), 'attachments.0.contentType invalid_string'],
    [refused({ contentType: '' }), 'attachments.0.contentType invalid_string'],
    [refused({ contentType: 'a/b\r\nX: y' }), 'attachments.0.contentType invalid_string'],
    [refused({ contentType: `a/${'b'.repeat(254)}` }), 'attachments.0.contentType too_big'],
    [refused({ disposition: 'else' }), 'attachments.0.disposition invalid_enum_value'],
    [refused({ contentId: '<a>' }), 'attachments.0.contentId invalid_string'],
    [refused({ contentId: '' }), 'attachments.0.contentId too_small'],
    [refused({ contentId: 'x'.repeat(256) }), 'attachments.0.contentId too_big'],
    [refused({ disposition: 'inline' }), 'attachments.0.contentId required'],
    [{ attachments: [file(), 5] }, 'attachments.1 invalid_type'],
    [{ attachments: file() }, 'attachments invalid_type'],
  ])('of %j are refused', async (given, fault) => {
    expect(refusal(await shop.send({ to: 'a@x.test', ...given }))).toEqual(invalid(fault));
  });

  it.each(['aGk=', 'aGk', 'aA==', 'aA', 'aGkh', '++//'])('take the content %s', async (content) => {
    const to = newAddress();
    expect((await shop.send({ to, attachments: [file({ content })] })).status).toBe(200);
    const [stored] = (await shop.emailsTo(to))[0]!.attachments;
    const row = await shop.api.db
      .selectFrom('attachment')
      .select('content')
      .where('id', '=', stored!.attachmentId)
      .executeTakeFirstOrThrow();
    expect(row.content).toEqual(Buffer.from(content, 'base64'));
  });

  it('are at most ten', async () => {
    const answer = await shop.send({
      to: 'a@x.test',
      attachments: Array.from({ length: 11 }, file),
    });
    expect(refusal(answer)).toEqual(invalid('attachments too_big'));
    const to = newAddress();
    const ten = await shop.send({ to, attachments: Array.from({ length: 10 }, () => file()) });
    expect(ten.status).toBe(200);
    expect((await shop.emailsTo(to))[0]!.attachments).toHaveLength(10);
  });

  it('are together at most 10 MB before base64', async () => {
    const attachments = [5_242_880, 5_242_881].map((bytes) =>
      file({ content: Buffer.alloc(bytes).toString('base64') }),
    );
    const answer = await shop.send({ to: 'a@x.test', attachments });
    expect(refusal(answer)).toEqual(invalid('attachments too_big'));
    const half = file({ content: Buffer.alloc(5_242_880).toString('base64') });
    expect((await shop.send({ to: newAddress(), attachments: [half] })).status).toBe(200);
  });

  it('have limits an operator can move', async () => {
    const strict = await useShop({ MAX_ATTACHMENTS_COUNT: '2', MAX_ATTACHMENT_SIZE_MB: '1' });
    const to = newAddress();
    const statuses = [];
    for (const attachments of [
      [file(), file()],
      [file(), file(), file()],
      [file({ content: Buffer.alloc(1_100_000).toString('base64') })],
      // Base64 characters are counted, floor(1048576 · 4/3) = 1398101 of them.
      [file({ content: 'A'.repeat(699_050) }), file({ content: 'A'.repeat(699_051) })],
      [file({ content: 'A'.repeat(699_050) }), file({ content: 'A'.repeat(699_052) })],
    ]) {
      statuses.push(refusal(await strict.send({ to, attachments })).slice(0, 3));
    }
    const tooBig = invalid('attachments too_big');
    expect(statuses).toEqual([[200, undefined], tooBig, tooBig, [200, undefined], tooBig]);
  });

  it('are stored once, however many get them', async () => {
    const [a, b] = [newAddress(), newAddress()];
    const { db } = shop.api;
    const count = async () => (await db.selectFrom('attachment').select('id').execute()).length;
    const before = await count();
    const image = file({ disposition: 'inline', contentId: 'logo', contentType: 'image/png' });
    await shop.send({ to: [a, b], attachments: [image] });
    expect(await count()).toBe(before + 1);
    const [mine, yours] = [(await shop.emailsTo(a))[0]!, (await shop.emailsTo(b))[0]!];
    expect(mine.attachments).toEqual([
      {
        attachmentId: expect.any(String),
        filename: 'a.txt',
        contentType: 'image/png',
        disposition: 'inline',
        contentId: 'logo',
        bytes: 2,
      },
    ]);
    expect(yours.attachments).toEqual(mine.attachments);
    await shop.send({ to: [], attachments: [image] });
    expect(await count()).toBe(before + 1);
  });
});
