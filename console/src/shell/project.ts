import { createContext, useContext } from 'react';
import type { Everpost } from '../../../client/everpost.ts';
import type { Project } from '../api/api.ts';

interface ProjectContext {
  project: Project;
  /** The API with the rights of the user in this project. */
  api: Everpost;
  /** Returns the address of a page of the project: `path('contacts')`. */
  path: (page: string) => string;
  /** Why this user may not do what only administrators may; null: the user may. */
  adminOnly: string | null;
}

export const ProjectContext = createContext<ProjectContext | null>(null);

/** The project of the page. */
export function useProject(): ProjectContext {
  return useContext(ProjectContext)!;
}
