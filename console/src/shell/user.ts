import { createContext, useContext } from 'react';
import type { User } from '../api/api.ts';

export const UserContext = createContext<User | null>(null);

/** Returns the user of the session. */
export function useUser(): User {
  return useContext(UserContext)!;
}
