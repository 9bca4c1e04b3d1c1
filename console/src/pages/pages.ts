import type { ComponentType } from 'react';

/** The pages below one address: for each path, a function that loads the module with its `Page`. */
export type Pages = Record<string, () => Promise<{ Page: ComponentType }>>;
