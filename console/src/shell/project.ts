import { createContext, useContext } from 'react';
import type { Everpost } from '../../../client/everpost.ts';
import type { Project } from '../api/api.ts';

interface ProjectContext {
  project: Project;
  /** The API for requests in this project, with the user's rights. */
  api: Everpost;
  /** Returns the address of a page of the project: `path('contacts')`. */
  path: (page: string) => string;
  /** The reason shown at actions for administrators only; null: the user is an administrator. */
  adminOnly: string | null;
}

export const ProjectContext = createContext<ProjectContext | null>(null);

/** Returns the project of the page. */
export function useProject(): ProjectContext {
  return useContext(ProjectContext)!;
}
