import { randomBytes } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { Config } from '../../config.ts';
import { Problem } from '../../domain/errors.ts';
import { type BuiltConsole, readConsole, type ServedFile } from './files.ts';
import { mailFrame, mailFramePolicy } from './mail-frame.ts';

/** Path of the console. The same path is in `console/vite.config.ts`. */
export const consolePath = '/console';

/** Returns true for the path of a page or file of the console. */
export const isInConsole = (path: string): boolean =>
  path === consolePath || path.startsWith(`${consolePath}/`);

/**
 * Marks the places in the built page at which the nonce of each response is inserted: see
 * `console/vite.config.ts`.
 */
const noncePlace = 'EVERPOST-NONCE';

/**
 * Serves the console: the same page for all its addresses and all users, and the files of the page.
 * No rate limit counts these requests, because they read no data.
 */
export function consoleRoutes({ console: isOn }: Pick<Config, 'console'>): Middleware {
  let built: Promise<BuiltConsole> | undefined;
  return async (ctx, next) => {
    const { path } = ctx;
    if (!isOn || !isInConsole(path) || !['GET', 'HEAD'].includes(ctx.method)) return next();
    built ??= readConsole().catch((cause: unknown) => {
      built = undefined;
      throw new Problem('ROUTE_NOT_FOUND', {
        message: 'The console was not built. Run "npm run build". "npm start" also builds it.',
        cause,
      });
    });
    const { page, assets } = await built;
    if (path === `${consolePath}/mail-frame`) return sendMailFrame(ctx);
    if (path.startsWith(`${consolePath}/assets/`)) {
      const file = assets.get(path.slice(`${consolePath}/assets/`.length));
      if (!file) throw new Problem('ROUTE_NOT_FOUND');
      return sendAsset(ctx, file);
    }
    return sendPage(ctx, page);
  };
}

function sendPage(ctx: Context, page: string): void {
  const nonce = randomBytes(16).toString('base64');
  ctx.set({
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': pagePolicy(nonce),
    'Referrer-Policy': 'same-origin',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  ctx.type = 'text/html';
  ctx.body = page.replaceAll(noncePlace, nonce);
}

/**
 * Returns the Content-Security-Policy of the page. Libraries that insert styles mark them with the
 * nonce.
 */
function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-src 'self'",
    "img-src 'self' data: blob:",
    `style-src 'self' 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function sendAsset(ctx: Context, { type, plain, br, gzip }: ServedFile): void {
  ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
  ctx.type = type;
  ctx.vary('Accept-Encoding');
  const accepted = ctx.acceptsEncodings('br', 'gzip', 'identity');
  const [encoding, body] =
    accepted === 'br' && br
      ? (['br', br] as const)
      : accepted !== 'identity' && gzip
        ? (['gzip', gzip] as const)
        : (['', plain] as const);
  if (encoding !== '') ctx.set('Content-Encoding', encoding);
  ctx.body = body;
}

function sendMailFrame(ctx: Context): void {
  const hasImages = ctx.query['images'] === 'true';
  ctx.set({
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': mailFramePolicy({ hasImages }),
    'X-Frame-Options': 'SAMEORIGIN',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  ctx.type = 'text/html';
  ctx.body = mailFrame;
}
