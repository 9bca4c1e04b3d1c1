import path from 'node:path';
import { parseSync } from 'oxc-parser';

/** One import of a file. */
export interface Import {
  /** A file of ours by its path from the root, or the name of a package. */
  target: string;
  isPackage: boolean;
  /** Nothing of it is left when the program runs. */
  isType: boolean;
  /** An `import()`, which loads nothing until it runs. */
  isLazy: boolean;
}

/** The imports of a TypeScript source, those of `export … from` and `import()` with them. */
export function importsOf(file: string, source: string): Import[] {
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const found = [
    ...module.staticImports.map(({ moduleRequest, entries }) => ({
      name: moduleRequest.value,
      isType: entries.length > 0 && entries.every((entry) => entry.isType),
      isLazy: false,
    })),
    ...module.staticExports.flatMap(({ entries }) =>
      entries
        .filter(({ moduleRequest }) => moduleRequest)
        .map(({ moduleRequest, isType }) => ({
          name: moduleRequest!.value,
          isType,
          isLazy: false,
        })),
    ),
    ...module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
      // Only a text can be followed.
      const text = /^['"](.+)['"]$/.exec(source.slice(start, end))?.[1];
      return text === undefined ? [] : [{ name: text, isType: false, isLazy: true }];
    }),
  ];
  return found.map(({ name, ...how }) => {
    const isPackage = !name.startsWith('.');
    const target = isPackage ? name : path.posix.join(path.posix.dirname(file), name);
    return { target, isPackage, ...how };
  });
}
