import type { ComponentType } from 'react';

/** Pages of a room: how each address below its parent loads the module with its `Page`. */
export type Pages = Record<string, () => Promise<{ Page: ComponentType }>>;
