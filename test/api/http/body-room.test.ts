import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BodyRoom, type Place } from '../../../api/http/bodies/body-room.ts';

/** Decides which bodies may use memory. The test counts bytes instead of allocating them. */

const MB = 1024 * 1024;
const largest = 50 * MB;

function useRoom() {
  const room = new BodyRoom();
  const gone: string[] = [];
  return {
    room,
    /** Names of the rejected bodies, in order. */
    gone,
    /** A body of which so many bytes have arrived. */
    arrive(owner: string, bytes: number, expected = largest): Place {
      const giveWay = () => void gone.push(owner);
      const place = room.enter({ owner, expected, giveWay });
      expect(room.take(place, bytes)).toBeUndefined();
      return place;
    },
  };
}

const isSettled = async (promise: Promise<unknown> | undefined) =>
  (await Promise.race([promise?.then(() => true), sleep(150, false)])) ?? true;

/** After this time a body without new bytes counts as slow. */
const untilSlow = () => sleep(2_500);

describe('when nearly all memory is taken', () => {
  it('by bodies that do not come to an end, the slowest gives way', async () => {
    const { room, gone, arrive } = useRoom();
    const places = ['a', 'b', 'c', 'd'].map((owner) => arrive(owner, largest - MB));
    await untilSlow();
    void room.take(places[0]!, 10);
    void room.take(places[3]!, 10);
    const place = room.enter({ owner: 'e', expected: largest, giveWay: () => gone.push('e') });
    expect(room.take(place, 3 * MB)).toBeUndefined();
    await room.take(place, 3 * MB);
    expect(gone).toEqual(['b']);
  });

  it('by bodies that are being handled, others wait for those', async () => {
    const { room, gone, arrive } = useRoom();
    const places = ['a', 'b', 'c', 'd'].map((owner) => arrive(owner, largest));
    for (const place of places) room.complete(place);
    await untilSlow();
    const place = room.enter({ owner: 'e', expected: MB, giveWay: () => gone.push('e') });
    const taken = room.take(place, MB);
    expect(await isSettled(taken)).toBe(false);
    room.leave(places[2]!);
    await taken;
    expect(gone).toEqual([]);
  });

  it('by bodies that come fast, one gives way if none could go on', async () => {
    const { room, gone, arrive } = useRoom();
    const places = ['a', 'b', 'c', 'd', 'e'].map((owner) => arrive(owner, 40 * MB));
    const rest = places.map(async (place) => room.take(place, 10 * MB));
    await Promise.any(rest);
    expect(gone).toHaveLength(1);
  });
});

describe('an owner', () => {
  it('has no more than a quarter', async () => {
    const { room, arrive } = useRoom();
    room.complete(arrive('a', 30 * MB, 0));
    const place = arrive('a', 15 * MB, 0);
    expect(await isSettled(room.take(place, 10 * MB))).toBe(false);
    room.leave(place);
    arrive('b', largest);
  });

  it('has its bodies read one after the other where they would not fit together', async () => {
    const { room, gone, arrive } = useRoom();
    const first = arrive('a', MB, 30 * MB);
    const second = room.enter({ owner: 'a', expected: 30 * MB, giveWay: () => gone.push('2') });
    const third = room.enter({ owner: 'a', expected: MB, giveWay: () => gone.push('3') });
    const [begun, next] = [room.take(second, MB), room.take(third, MB)];
    for (let mb = 1; mb < 30; mb += 1) expect(room.take(first, MB)).toBeUndefined();
    expect(await isSettled(begun)).toBe(false);
    // A small one does not overtake it without end.
    expect(await isSettled(next)).toBe(false);
    room.complete(first);
    room.leave(first);
    await Promise.all([begun, next]);
    expect(gone).toEqual([]);
  });

  it('does not wait for a body of its own that has stalled', async () => {
    const { room, gone, arrive } = useRoom();
    arrive('a', MB);
    await untilSlow();
    const place = arrive('a', MB);
    for (let mb = 1; mb < 50; mb += 1) await room.take(place, MB);
    expect(gone).toEqual(['a']);
  });
});

it('a body that finds no room in ten seconds is refused', async () => {
  const { room, arrive } = useRoom();
  room.complete(arrive('a', largest));
  const place = room.enter({ owner: 'a', expected: MB, giveWay: () => {} });
  await expect(room.take(place, MB)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
}, 20_000);
