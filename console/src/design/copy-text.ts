/** Copies a text to the clipboard. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers have no `clipboard` on pages without HTTPS, except on localhost.
    copyChosen(text);
  }
}

/** Copies by selecting the text in the page, as a user does. */
function copyChosen(text: string): void {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden';
  document.body.append(area);
  area.select();
  // `execCommand` is deprecated, but it is the only way to copy without `clipboard`.
  // oxlint-disable-next-line typescript/no-deprecated
  document.execCommand('copy');
  area.remove();
}
