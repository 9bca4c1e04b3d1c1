import { Problem } from '../../domain/errors.ts';
import { type Picture, pictureStepsMax } from '../../domain/picture/picture.ts';
import { ThreadPool } from './thread-pool.ts';

export interface Drawer {
  /**
   * Returns the picture as SVG.
   * @throws Problem PICTURE_TOO_LARGE when the picture has too many steps or takes too long;
   * RATE_LIMIT_EXCEEDED when too many pictures of this owner already wait
   */
  draw(picture: Picture, owner: string): Promise<string>;
  /** Ends the thread and aborts its current drawing. */
  close(): Promise<void>;
}

/**
 * Maximum number of milliseconds for one picture. The most complex graph of 1,000 steps takes nine
 * seconds.
 */
const drawMsDefault = 15_000;
const megabytes = 512;
/** Maximum number of waiting pictures of one owner, because each may need a megabyte. */
const waitingMax = 20;

/**
 * Creates a drawer with a separate thread. There, a graph that takes very long can be stopped, and
 * delays no other request. Owners take turns.
 */
export function createDrawer({ drawMs = drawMsDefault }: { drawMs?: number } = {}): Drawer {
  const threads = new ThreadPool<Picture>(import.meta.url, 'draw-worker', 1, megabytes);
  const waiting = new Map<string, number>();

  return {
    async draw(picture, owner) {
      if (picture.steps.length > pictureStepsMax) {
        const message = `The workflow has ${picture.steps.length} steps; a picture has at most ${pictureStepsMax}.`;
        throw new Problem('PICTURE_TOO_LARGE', { message });
      }
      const before = waiting.get(owner) ?? 0;
      if (before >= waitingMax) {
        throw new Problem('RATE_LIMIT_EXCEEDED', {
          message: `${waitingMax} pictures of this project are already waiting to be drawn.`,
          details: { retryAfter: Math.ceil(drawMs / 1000) },
        });
      }
      waiting.set(owner, before + 1);
      try {
        const svg = await threads.run(owner, picture, drawMs);
        if (typeof svg === 'string') return svg;
        const message =
          'Drawing the workflow takes too long. It probably has too many transitions.';
        throw new Problem('PICTURE_TOO_LARGE', { message });
      } finally {
        const left = (waiting.get(owner) ?? 1) - 1;
        if (left === 0) waiting.delete(owner);
        else waiting.set(owner, left);
      }
    },
    close: () => threads.close(),
  };
}
