import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A minimal receiver of events, in its own process, on PORT. Responds with 200 after ANSWER_MS
 * milliseconds, and never to `/hang`.
 */

const answerMs = Number(process.env['ANSWER_MS']);

const server = createServer((request, response) => {
  request.resume();
  if (request.url === '/hang') return;
  request.on('end', () => void sleep(answerMs).then(() => response.end()));
});

process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0));
server.listen(Number(process.env['PORT']), '127.0.0.1', () => process.send?.({ ready: true }));
