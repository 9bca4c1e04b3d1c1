import { describe, expect, it } from 'vitest';
import { newText, updatedText } from '../../../client/cli/folder/merge.ts';

/** Brings the file of a topic or template up to date with the server's text. */
const update = (local: string, text: string, variables = {}, path = 'topics/news.yaml') =>
  updatedText(path, local, { path: path.replace('.json', '.yaml'), text }, variables);

const remote = 'name: News\ndescription: Each week\nvisibility: public\ndefault: subscribed\n';

describe('a file that means the same', () => {
  it.each([
    [
      'in another order',
      'default: subscribed\nvisibility: public\ndescription: Each week\nname: News\n',
    ],
    ['with comments', `# ours\n${remote.replace('\n', ' # the name\n\n')}`],
    [
      'in another style',
      '{"name": "News", description: \'Each week\', visibility: public, default: subscribed}',
    ],
    ['with a variable of that value', remote.replace('News', '${NAME}')],
  ])('stays byte for byte %s', (_, local) => {
    expect(update(local, remote, { NAME: 'News' })).toBe(local);
  });

  it('stays where fields have their default', () => {
    const local = 'name: News\nvisibility: public\ndescription: null\ndefault: subscribed\n';
    expect(update(local, remote.replace('description: Each week\n', ''))).toBe(local);
  });
});

describe('a file with another value', () => {
  it('gets this value alone, in the style of the former one', () => {
    const local =
      '# ours\nname:   "Old" # the name\n\ndescription: Each week\nvisibility:  public\ndefault: subscribed\n';
    expect(update(local, remote)).toBe(local.replace('"Old"', '"News"'));
    const single = local.replace('"Old"', "'Old'");
    const wanted = remote.replace('News', '"Ada\'s: news"');
    expect(update(single, wanted)).toBe(single.replace("'Old'", "'Ada''s: news'"));
  });

  it('keeps other variables, and loses one whose value differs', () => {
    const local = 'name: ${A}\ndescription: ${B}\nvisibility: public\ndefault: subscribed\n';
    expect(update(local, remote, { A: 'News', B: 'Old' })).toBe(local.replace('${B}', 'Each week'));
  });

  it('is written without becoming a variable', () => {
    const wanted = remote.replace('name: News', () => 'name: $${PRICE} news');
    expect(update(remote, wanted)).toBe(wanted);
    const flow = '{name: Old, description: Each week, visibility: public, default: subscribed}\n';
    expect(update(flow, wanted)).toBe(flow.replace('Old', () => '"$${PRICE} news"'));
  });

  it('gets and loses fields, with the comments of others', () => {
    const local = '# ours\nname: News # n\nvisibility: public\n# why\ndefault: subscribed\n';
    expect(update(local, remote)).toBe(
      '# ours\nname: News # n\nvisibility: public\n# why\ndefault: subscribed\ndescription: Each week\n',
    );
    const without = remote.replace('description: Each week\n', '');
    expect(update(`# ours\n${remote}`, without)).toBe(`# ours\n${without}`);
  });

  it('is replaced as a whole where it cannot be read', () => {
    const text = update('name: [', remote);
    expect(text).toBe(`# yaml-language-server: $schema=../.everpost/schemas/topic.json\n${remote}`);
  });

  it('is replaced as a whole by a file that this program cannot read', () => {
    const text = 'name: News\nnew: 1\nvisibility: [\n';
    expect(update(remote, text)).toContain(text);
  });

  it('stays JSON', () => {
    const local = '{ "name": "Old", "visibility": "public",\n  "default": "subscribed" }\n';
    const updated = update(local, remote, {}, 'topics/news.json');
    expect(JSON.parse(updated)).toEqual({
      name: 'News',
      visibility: 'public',
      default: 'subscribed',
      description: 'Each week',
    });
    const same =
      '{"name": "Old", "description": "Each week", "visibility": "public", "default": "subscribed"}';
    expect(update(same, remote, {}, 'topics/news.json')).toBe(same.replace('Old', 'News'));
  });
});

describe('the file of a template', () => {
  const path = 'templates/hi.html';
  const text = '---\nname: Hi\nsubject: Hello\ntype: TRANSACTIONAL\n---\n<p>${X}</p>\n---\nend';

  it('keeps its front matter where only the body differs, and the other way round', () => {
    const local = text.replace('name: Hi', '# ours\nname: Hi').replace('end', 'old');
    expect(update(local, text, {}, path)).toBe(local.replace('old', 'end'));
    const named = text.replace('name: Hi', '# ours\nname: Old # n');
    expect(update(named, text, {}, path)).toBe(named.replace('Old', 'Hi'));
    expect(update(text, text, {}, path)).toBe(text);
  });

  it('begins with the line for editors in the front matter, when it is new', () => {
    expect(newText({ path, text })).toBe(
      text.replace(
        '---\n',
        '---\n# yaml-language-server: $schema=../.everpost/schemas/template.json\n',
      ),
    );
  });
});

describe('the file of a workflow', () => {
  const path = 'workflows/trial.yaml';
  const text = [
    'name: Trial',
    'enabled: false',
    'trigger:',
    '  type: EVENT',
    '  config:',
    '    eventName: began',
    'steps:',
    '  - key: wait',
    '    type: DELAY',
    '    name: Wait',
    '    config:',
    '      amount: 2',
    '      unit: days',
    '    position: {x: 0, y: 0}',
    '  - key: out',
    '    type: EXIT',
    '    name: Out',
    '    config: {}',
    '    position: {x: 0, y: 1}',
    'transitions:',
    '  - {from: trigger, to: wait}',
    '  - {from: wait, to: out}',
    '',
  ].join('\n');
  const local = [
    'name: Trial',
    'trigger: {type: EVENT, config: {eventName: began}}',
    'steps:',
    '  # first they wait',
    '  - {key: wait, type: DELAY, name: Wait, config: {amount: 2, unit: days}} # two days',
    '  - {key: out, type: EXIT, name: Out}',
    'transitions: [{from: trigger, to: wait}, {from: wait, to: out}]',
    '',
  ].join('\n');
  const updated = (server: string) => update(local, server, {}, path);

  it('stays as it is while it means the same', () => {
    expect(updated(text)).toBe(local);
  });

  it('gets the value of a step alone', () => {
    expect(updated(text.replace('amount: 2', 'amount: 3'))).toBe(
      local.replace('amount: 2', 'amount: 3'),
    );
  });

  it('gets and loses steps, with the comments of others', () => {
    const step = '  - key: more\n    type: EXIT\n    name: More\n    config: {}\n';
    const added = updated(text.replace('transitions:', `${step}transitions:`));
    expect(added).toContain('  # first they wait\n');
    expect(added).toContain('# two days\n');
    expect(added).toMatch(/- \{key: more, type: EXIT, name: More, config: \{\}/);
    const removed = text
      .replace(/ {2}- key: out[\s\S]*(?=transitions)/, '')
      .replace('  - {from: wait, to: out}\n', '');
    expect(updated(removed)).toBe(
      local
        .replace('  - {key: out, type: EXIT, name: Out}\n', '')
        .replace(', {from: wait, to: out}', ''),
    );
  });
});
