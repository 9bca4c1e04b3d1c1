import type { Middleware } from 'koa';
import type { Config } from '../../config.ts';

const exposed = [
  'X-Request-ID',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotency-Replayed',
  'Everpost-Ignored',
  'Preference-Applied',
  'Everpost-Key-Expires',
].join(', ');
const headers = 'Content-Type, Authorization, Idempotency-Key, X-Request-ID, Prefer';

/**
 * Lets browsers call the public API and read schemas from any origin, without cookies. All other endpoints can be
 * called only from pages of this installation, with cookies. Preflight requests are answered for
 * any path.
 */
export function cors(config: Config): Middleware {
  const originOf = (url: string | null) => (url ? new URL(url).origin : null);
  const dashboard = originOf(config.dashboardUrl);
  const ours = new Set([dashboard, originOf(config.landingUrl), originOf(config.docsUrl)]);

  return (ctx, next) => {
    const origin = ctx.get('origin');
    // Editors in browsers read the schemas of files.
    const isSchema = ctx.path.startsWith('/schemas/');
    const isPublic = isSchema || (ctx.path.startsWith('/v1/') && origin !== dashboard);
    if (isPublic) {
      ctx.set('Access-Control-Allow-Origin', '*');
      ctx.set('Access-Control-Expose-Headers', exposed);
    } else {
      // No earlier middleware sets Vary.
      ctx.set('Vary', 'Origin');
      if (origin !== '' && ours.has(origin)) {
        ctx.set('Access-Control-Allow-Origin', origin);
        ctx.set('Access-Control-Allow-Credentials', 'true');
        ctx.set('Access-Control-Expose-Headers', `${exposed}, ETag`);
      }
    }
    if (ctx.method !== 'OPTIONS') return next();
    if (ctx.response.get('Access-Control-Allow-Origin')) {
      const methods = ['GET', 'POST', 'PUT', ...(isPublic ? [] : ['PATCH']), 'DELETE', 'OPTIONS'];
      ctx.set('Access-Control-Allow-Methods', methods.join(', '));
      ctx.set(
        'Access-Control-Allow-Headers',
        isPublic ? headers : `${headers}, X-Project-Id, If-Match`,
      );
      ctx.set('Access-Control-Max-Age', '600');
    }
    ctx.status = ctx.path.startsWith('/v1/') ? 200 : 204;
    ctx.body = ctx.status === 200 ? '' : null;
    return undefined;
  };
}
