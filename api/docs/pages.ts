import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Context, Middleware } from 'koa';
import type { ListedEndpoint } from '../http/endpoint.ts';
import type { Described } from './document.ts';
import { docsHeaders } from './layout.ts';
import { docsFolder } from './library.ts';
import { type Compressed, siteOf } from './site.ts';

const imageTypes: Record<string, string> = { '.png': 'image/png', '.svg': 'image/svg+xml' };
const scripts = new Set(['docs.js', 'search.js', 'theme.js']);

/** Serves the pages below `/docs`, with images, scripts and the search index. */
export function docsRoutes(endpoints: readonly ListedEndpoint[], config: Described): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/docs/') || !['GET', 'HEAD'].includes(ctx.method)) return next();
    const [, folder, name = ''] = /^\/docs\/(images|assets)\/([\w.-]+)$/.exec(ctx.path) ?? [];
    if (folder === 'images' && (await sendImage(ctx, name))) return undefined;
    if (folder === 'assets' && scripts.has(name)) return sendScript(ctx, name);
    const { pages, index } = await siteOf(endpoints, config);
    const page = pages.get(ctx.path);
    if (page) {
      ctx.set(docsHeaders);
      ctx.type = 'text/html';
      return send(ctx, page);
    }
    if (ctx.path !== '/docs/search.json') return next();
    ctx.set('Cache-Control', docsHeaders['Cache-Control']);
    ctx.type = 'application/json';
    return send(ctx, index);
  };
}

/** Sends an image. Returns false when there is no such image. */
async function sendImage(ctx: Context, name: string): Promise<boolean> {
  const type = imageTypes[extname(name)];
  if (!type || !(await readdir(join(docsFolder, 'images'))).includes(name)) return false;
  ctx.set('Cache-Control', 'public, max-age=86400');
  // An SVG image may contain styles, but nothing else is loaded or run.
  ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
  ctx.type = type;
  ctx.body = createReadStream(join(docsFolder, 'images', name));
  return true;
}

async function sendScript(ctx: Context, name: string): Promise<void> {
  // Scripts are cached only as long as pages, so that a page of a new version soon gets its own
  // scripts.
  ctx.set('Cache-Control', docsHeaders['Cache-Control']);
  ctx.type = 'text/javascript';
  ctx.body = await readFile(join(import.meta.dirname, 'browser', name));
}

function send(ctx: Context, { text, gzip }: Compressed): void {
  ctx.vary('Accept-Encoding');
  const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isZipped) ctx.set('Content-Encoding', 'gzip');
  ctx.body = isZipped ? gzip : text;
}
