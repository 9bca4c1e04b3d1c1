// Runs before the page is drawn, so that a page in the chosen colors does not flash in the others.
const chosen = localStorage.getItem('theme');
if (chosen) document.documentElement.dataset.theme = chosen;
