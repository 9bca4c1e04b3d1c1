import { createHash } from 'node:crypto';

/**
 * The page inside which the console shows a mail. The console puts it into a frame without an origin,
 * so it reaches neither the console nor the API. Its only script receives the mail and shows it; by
 * the policy no script of the mail runs.
 */

const script = `
addEventListener('message', ({ data }) => {
  if (typeof data !== 'string') return;
  const mail = new DOMParser().parseFromString(data, 'text/html');
  document.documentElement.replaceWith(document.adoptNode(mail.documentElement));
  const report = () => parent.postMessage({ height: document.documentElement.scrollHeight }, '*');
  report();
  new ResizeObserver(report).observe(document.documentElement);
});
parent.postMessage({ isReady: true }, '*');`;

const scriptHash = createHash('sha256').update(script).digest('base64');

export const mailFrame = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mail</title></head>
<body><script>${script}</script></body></html>
`;

/** @param hasImages true: pictures of other servers are loaded, because the user has asked for them. */
export function mailFramePolicy({ hasImages }: { hasImages: boolean }): string {
  return [
    "default-src 'none'",
    `script-src 'sha256-${scriptHash}'`,
    "style-src 'unsafe-inline'",
    `img-src data:${hasImages ? ' https: http:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-scripts',
  ].join('; ');
}
