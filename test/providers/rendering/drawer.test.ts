import { expect, it } from 'vitest';
import type { Picture } from '../../../domain/picture/picture.ts';
import { createDrawer } from '../../../providers/rendering/drawer.ts';
import { atEnd } from '../../support/use.ts';

/** Returns a picture in which every step leads to many others, which takes long to lay out. */
function tangle(steps: number, waysEach: number): Picture {
  const ids = Array.from({ length: steps }, (_, index) => `s${index}`);
  const ways = ids.flatMap((to, index) =>
    Array.from({ length: Math.min(index, waysEach) }, (_, way) => {
      const from = `s${(index * 7919 + way * 104_729) % index}`;
      return { from, to, label: `${way}`, isTaken: null };
    }),
  );
  return {
    title: 'Tangle',
    subtitle: '',
    steps: ids.map((id) => {
      const step = { label: 'DELAY', state: null, word: null, notes: [], fault: null } as const;
      return { ...step, id, name: id, notes: [] };
    }),
    ways,
  };
}

const small = tangle(3, 1);

function newDrawer(settings?: Parameters<typeof createDrawer>[0]) {
  const drawer = createDrawer(settings);
  atEnd(() => drawer.close());
  return drawer;
}

it('draws in a thread: this process goes on meanwhile', async () => {
  const drawer = newDrawer();
  await drawer.draw(small, 'a');
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 20);
  await drawer.draw(tangle(300, 3), 'a');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});

it('stops what takes too long, and draws the next', async () => {
  const drawer = newDrawer({ drawMs: 500 });
  await expect(drawer.draw(tangle(1_000, 20), 'a')).rejects.toMatchObject({
    code: 'PICTURE_TOO_LARGE',
  });
  expect(await newDrawer().draw(small, 'a')).toContain('</svg>');
  await expect(drawer.draw(tangle(1_001, 0), 'a')).rejects.toMatchObject({
    code: 'PICTURE_TOO_LARGE',
  });
});

it('lets owners take turns, and none ask for too many at once', async () => {
  const drawer = newDrawer();
  const order: string[] = [];
  const draw = (owner: string) => drawer.draw(small, owner).then(() => order.push(owner));
  const many = Array.from({ length: 20 }, () => draw('many'));
  const other = draw('other');
  await expect(drawer.draw(small, 'many')).rejects.toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    details: { retryAfter: 15 },
  });
  await Promise.all([...many, other]);
  expect(order.indexOf('other')).toBeLessThan(3);
  expect(await drawer.draw(small, 'many')).toContain('</svg>');
});
