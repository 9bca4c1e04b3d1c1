import { parentPort } from 'node:worker_threads';
import { layOut } from '../../domain/picture/layout.ts';
import type { Picture } from '../../domain/picture/picture.ts';
import { svgOf } from '../../domain/picture/svg.ts';

/** The thread that draws pictures, one at a time. */
parentPort?.on('message', (picture: Picture) =>
  parentPort?.postMessage(svgOf(layOut(picture)), []),
);
parentPort?.postMessage('ready', []);
