/** The colour theme: light, dark, or that of the system. The choice is stored in the browser. */

export type Theme = 'system' | 'light' | 'dark';

const key = 'everpost-theme';

export function readTheme(): Theme {
  const kept = localStorage.getItem(key);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function applyTheme(theme: Theme = readTheme()): void {
  localStorage.setItem(key, theme);
  document.documentElement.dataset['theme'] = theme;
}
