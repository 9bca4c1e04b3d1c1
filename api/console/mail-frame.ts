import { createHash } from 'node:crypto';

/**
 * The page in which the console shows a mail. The console loads it in a frame without an origin, so
 * the mail can reach neither the console nor the API. The only script of the page receives the mail
 * and shows it; the policy forbids scripts of the mail.
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

/**
 * Returns the Content-Security-Policy of the page.
 * @param hasImages true: images of other servers are loaded, because the user has chosen this.
 */
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
