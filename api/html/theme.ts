/**
 * The CSS of all larger pages, light and dark, with one accent colour. The contrast of text is at
 * least 4.5:1, even of muted text (WCAG 2.2, 1.4.3).
 */
export const theme = `
:root { color-scheme: light dark;
  --page: light-dark(#f7f8fa, #10151c); --card: light-dark(#fff, #171e27); --text: light-dark(#16202c, #e8edf4);
  --soft: light-dark(#566273, #a3afbf); --edge: light-dark(#dfe3e9, #2b3542); --hover: light-dark(#f0f4fa, #1d2733);
  --rest: light-dark(#edf0f4, #222b37); --accent: light-dark(#1261c9, #6cb0ff); --on-accent: light-dark(#fff, #0b1420); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 0.9375rem/1.5 "Inter", ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  -webkit-text-size-adjust: 100%; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .5rem 1rem; z-index: 1; }
.skip:focus { left: .5rem; top: .5rem; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .8125rem; }
input, select, button { font: inherit; color: inherit; }
input, select { padding: .3125rem .625rem; border: 1px solid var(--edge); border-radius: .375rem;
  background: var(--page); min-width: 0; }
.soft { color: var(--soft); }
`;
