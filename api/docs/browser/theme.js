// Runs before the page is drawn, so that it does not appear in the wrong colors for a moment.
const chosen = localStorage.getItem('theme');
if (chosen) document.documentElement.dataset.theme = chosen;
