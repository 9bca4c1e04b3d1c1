import { createSearch } from './search.js';

document.querySelector('nav.pages [aria-current]')?.scrollIntoView({ block: 'nearest' });
addThemeSwitch();
addCopyButtons();
rememberTabs();
addSearch();

function addThemeSwitch() {
  const button = document.querySelector('#theme');
  const root = document.documentElement;
  button.hidden = false;
  button.addEventListener('click', () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
    localStorage.setItem('theme', root.dataset.theme);
  });
}

function addCopyButtons() {
  // Browsers have a clipboard on https and on localhost only.
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
    block.append(button);
  }
}

/** The language chosen in one place is shown in all places that have it. */
function rememberTabs() {
  const choose = (language) => {
    for (const tab of document.querySelectorAll('.tabs > input')) {
      if (tab.value === language) tab.checked = true;
    }
  };
  const known = localStorage.getItem('language');
  if (known) choose(known);
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.tabs > input')) return;
    localStorage.setItem('language', target.value);
    choose(target.value);
  });
}

function addSearch() {
  const input = document.querySelector('header input[type=search]');
  const list = document.querySelector('#found');
  let index;
  const load = () => {
    index ??= fetch('/docs/search.json')
      .then((response) => response.json())
      .then(createSearch);
    return index;
  };
  const show = async () => {
    const query = input.value.trim();
    const search = await load();
    if (query !== input.value.trim()) return;
    const hits = search(query, 12);
    list.replaceChildren(...hits.map(shownHit));
    if (query !== '' && hits.length === 0) list.textContent = 'Nothing has all these words.';
    list.hidden = query === '';
  };
  input.addEventListener('focus', load, { once: true });
  input.addEventListener('input', show);
  document.addEventListener('keydown', (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
    if (event.key === '/' && !isTyping) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === 'Escape') list.hidden = true;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') moveFocus(event, input, list);
  });
  document.addEventListener('click', ({ target }) => {
    if (!target.closest('header form')) list.hidden = true;
  });
}

function moveFocus(event, input, list) {
  const places = [input, ...list.querySelectorAll('a')];
  const at = places.indexOf(document.activeElement);
  const to = places[at + (event.key === 'ArrowDown' ? 1 : -1)];
  if (at < 0 || list.hidden || !to) return;
  event.preventDefault();
  to.focus();
}

function shownHit({ kind, title, context, excerpt, url }) {
  const link = document.createElement('a');
  link.href = url;
  for (const [name, text] of Object.entries({ kind, title, context, excerpt })) {
    const part = document.createElement('span');
    part.className = name;
    part.textContent = text;
    link.append(part);
  }
  return link;
}
