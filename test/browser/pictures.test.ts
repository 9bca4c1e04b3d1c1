import { expect, it } from 'vitest';
import { useBrowser } from '../support/processes/chromium.ts';
import { useWorkflowApi } from '../support/projects/workflow-api.ts';

const browser = await useBrowser();

/** Runs in the page. Finds text that is outside its box. */
const look = `(() => {
  const boxes = [...document.querySelectorAll('.step')];
  const outside = boxes.flatMap((step) => {
    const { right } = step.querySelector('.box').getBoundingClientRect();
    return [...step.querySelectorAll('text')]
      .filter((text) => text.getBoundingClientRect().right > right)
      .map((text) => text.textContent);
  });
  getSelection().selectAllChildren(document.documentElement);
  return {
    root: document.documentElement.tagName,
    steps: boxes.length,
    outside,
    selected: String(getSelection()),
    page: getComputedStyle(document.querySelector('.page')).fill,
  };
})()`;

it.runIf(browser)('a picture is readable in light and dark, and its texts fit', async () => {
  const { api, make, createWorkflow, cookie, projectId } = await useWorkflowApi();
  const { id } = await createWorkflow();
  const names = ['<b>&" in a name that is much too long for any box', 'Plain', 'ÄÖÜ, ÉÀ & @@@ WWW'];
  for (const name of names) {
    const config = { amount: 1, unit: 'days' };
    await make(`/workflows/${id}/steps`, { type: 'DELAY', name, config });
  }
  const [cookieName = '', value = ''] = cookie.split('=');
  const colours: (string | undefined)[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser!.newContext({
      colorScheme,
      extraHTTPHeaders: { 'X-Project-Id': projectId },
    });
    await context.addCookies([{ name: cookieName, value, url: api.url }]);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto(`${api.url}/workflows/${id}/graph.svg?stats=true`);
    const seen = (await page.evaluate(look)) as { page: string; selected: string };
    colours.push(seen.page);
    expect(seen).toMatchObject({ root: 'svg', steps: 4, outside: [] });
    expect(seen.selected).toContain('Plain');
    expect(faults).toEqual([]);
  }
  expect(colours).toEqual(['rgb(255, 255, 255)', 'rgb(16, 21, 28)']);
});
