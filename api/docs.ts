import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Middleware } from 'koa';
import swaggerUi from 'swagger-ui-dist';

const files: Record<string, string> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
};

/** The files of the documentation page, from the installed package: no other host is asked. */
export const docsAssets: Middleware = async (ctx, next) => {
  const name = /^\/docs\/assets\/([\w.-]+)$/.exec(ctx.path)?.[1];
  const type = name && Object.hasOwn(files, name) ? files[name] : undefined;
  if (!name || !type || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
  ctx.type = type;
  ctx.set('Cache-Control', 'public, max-age=86400');
  ctx.body = createReadStream(path.join(swaggerUi.getAbsoluteFSPath(), name));
  return undefined;
};

/** The page that shows `/openapi.json`. */
export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Everpost API</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>The description of the API is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, tryItOutEnabled: true });
</script>
</body>
</html>
`;
