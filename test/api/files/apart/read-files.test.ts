import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { readFilesApart } from '../../../../api/files/apart/read-files.ts';
import { readFiles } from '../../../../api/files/reading/read.ts';

const topic = 'name: News\nvisibility: public\ndefault: subscribed\n';

describe('files that are read in a thread', () => {
  it('are read as in this one', async () => {
    const files = {
      'topics/news.yaml': topic,
      'topics/wrong.yaml': 'name: ${NAME}\n',
      'templates/a.html': '---\nname: A\nsubject: ${NAME}\ntype: HEADLESS\n---\nHi\n',
    };
    const apart = await readFilesApart('p', files, { NAME: 'A name' });
    const here = readFiles(files, { NAME: 'A name' });
    expect(apart.problems).toEqual(here.problems);
    expect(apart.objects).toMatchObject(
      here.objects.map((object) => ({ ...object, placeOf: expect.any(Function) })),
    );
    expect(apart.objects[2]?.placeOf('body')).toEqual({ line: 6, column: 1 });
  });

  it('do not hold up other work, however large they are', async () => {
    await readFilesApart('p', { 'topics/news.yaml': topic }, {});
    const step = '  - {key: a, type: DELAY, config: {amount: 2, unit: days}}\n';
    const text = `name: Large\nsteps:\n${step.repeat(80_000)}`;
    const body = `---\nname: A\nsubject: B\ntype: HEADLESS\n---\n${'<p>{{name}}</p>\n'.repeat(100_000)}`;
    const files = {
      'workflows/a.yaml': text,
      'workflows/b.yaml': text,
      'templates/a.html': body,
      'templates/b.html': body,
    };
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const { problems } = await readFilesApart('p', files, {});
    delay.disable();
    expect(problems.map(({ path, code }) => [path, code])).toEqual([
      ['workflows/a.yaml', 'too_big'],
      ['workflows/b.yaml', 'too_big'],
      ['templates/a.html', 'invalid_template'],
      ['templates/b.html', 'invalid_template'],
    ]);
    // Copying the texts to the thread and the objects back takes a moment.
    expect(delay.percentile(99) / 1e6).toBeLessThan(250);
  });
});
