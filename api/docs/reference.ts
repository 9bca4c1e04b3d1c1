import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Middleware } from 'koa';
import swaggerUi from 'swagger-ui-dist';

const files: Record<string, string> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
  'favicon-32x32.png': 'image/png',
};

/** The page of the reference with its files, from the installed package, not from another host. */
export const referenceRoutes =
  (apiUrl: string): Middleware =>
  (ctx, next) => {
    if (ctx.path === '/docs/reference' && (ctx.method === 'GET' || ctx.method === 'HEAD')) {
      ctx.type = 'text/html';
      ctx.set('Content-Security-Policy', referencePolicy(apiUrl));
      ctx.body = referencePage;
      return undefined;
    }
    const name = /^\/docs\/assets\/([\w.-]+)$/.exec(ctx.path)?.[1];
    const type = name && Object.hasOwn(files, name) ? files[name] : undefined;
    if (!name || !type || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
    ctx.type = type;
    ctx.set('Cache-Control', 'public, max-age=86400');
    ctx.body = createReadStream(path.join(swaggerUi.getAbsoluteFSPath(), name));
    return undefined;
  };

const start = `
SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, tryItOutEnabled: true });
`;

const startHash = createHash('sha256').update(start).digest('base64');

/** The page that shows `/openapi.json`. */
const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Everpost API</title>
<link rel="icon" href="/docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>The description of the API is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script>${start}</script>
</body>
</html>
`;

/**
 * The policy of the documentation page: run its own two scripts, and send requests to this server,
 * also by its public address.
 */
function referencePolicy(apiUrl: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${startHash}'`,
    // Swagger UI sets inline styles, and its images are data URLs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(apiUrl).origin}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
