import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { diagramFile, diagramsFolder } from '../../api/docs/diagrams.ts';
import { docsFolder } from '../../api/docs/library.ts';

/** Returns the sources of all Mermaid diagrams in `docs/`. */
export async function diagramSources(): Promise<string[]> {
  const files = (await readdir(docsFolder, { recursive: true })).filter((file) =>
    file.endsWith('.md'),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(docsFolder, file), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map(([, source = '']) => source),
  );
}

/** Draws all diagrams again. */
export async function drawDiagrams(): Promise<void> {
  await rm(diagramsFolder, { recursive: true, force: true });
  await mkdir(diagramsFolder);
  for (const source of await diagramSources()) {
    await writeFile(join(diagramsFolder, diagramFile(source)), drawn(source));
  }
}

function drawn(source: string): string {
  const svg = renderMermaidSVG(source.replace(/^---\n[\s\S]*?\n---\n/, ''), { transparent: true });
  // Colours and fonts are removed, because the pages define them, and their policy allows no styles
  // in a drawing.
  return svg
    .replace(/<style>[\s\S]*?<\/style>\n?/, '')
    .replace(/^(<svg[^>]*?) style="[^"]*"/, '$1');
}
