import path from 'node:path';
import { parseSync } from 'oxc-parser';

/** One import of a file. */
export interface Import {
  /** The path of a file of this repository from its root, or the name of a package. */
  target: string;
  isPackage: boolean;
  /** True if the import does not exist at run time. */
  isType: boolean;
  /** True for `import()`, which loads the file only when it runs. */
  isLazy: boolean;
}

/** Returns the imports of a TypeScript source, including `export … from` and `import()`. */
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
      // Only a literal path can be followed.
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
