import { useEffect, useRef, useState } from 'react';
import { base } from '../api/session.ts';

/**
 * Shows the HTML of a mail in a frame without an origin, so that the mail cannot reach the console.
 * The frame runs only our own script: the Content-Security-Policy of the page
 * (`api/console/mail-frame.ts`) forbids scripts of the mail. Images of other servers are loaded
 * only with `hasImages`.
 */
export function MailFrame({
  title,
  html,
  hasImages = false,
  isDark = false,
  isPicture = false,
}: {
  /** Name of the frame. */
  title: string;
  html: string;
  hasImages?: boolean;
  isDark?: boolean;
  /** True: a small preview that neither the keyboard nor screen readers reach. */
  isPicture?: boolean;
}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const latest = useRef(html);
  const isReady = useRef(false);
  const [height, setHeight] = useState(320);
  useEffect(() => {
    latest.current = html;
    if (isReady.current) frame.current?.contentWindow?.postMessage(html, '*');
  }, [html]);
  useEffect(() => {
    const receive = ({ source, data }: MessageEvent<{ isReady?: boolean; height?: number }>) => {
      if (source === null || source !== frame.current?.contentWindow) return;
      if (data.isReady) {
        isReady.current = true;
        frame.current.contentWindow.postMessage(latest.current, '*');
      } else if (typeof data.height === 'number') {
        setHeight(Math.min(Math.max(data.height, 320), 720));
      }
    };
    addEventListener('message', receive);
    return () => removeEventListener('message', receive);
  }, []);
  return (
    <iframe
      // A frame keeps the policy with which it was loaded, so a change loads a new frame.
      key={String(hasImages)}
      ref={frame}
      title={title}
      className={isPicture ? 'mail-picture' : 'mail-frame'}
      sandbox="allow-scripts"
      src={`${base}/mail-frame${hasImages ? '?images=true' : ''}`}
      loading={isPicture ? 'lazy' : 'eager'}
      tabIndex={isPicture ? -1 : undefined}
      aria-hidden={isPicture || undefined}
      style={{ colorScheme: isDark ? 'dark' : 'light', ...(!isPicture && { height }) }}
    />
  );
}
