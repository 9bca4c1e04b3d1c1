import { accountApi } from '../api/api.ts';
import { useRead } from '../api/queries.ts';

/** Returns the methods by which users of this server sign in; undefined: not read yet. */
export function useSignInMethods() {
  const { data } = useRead(['sign-in methods'], () => accountApi.get('/auth/methods'));
  return data?.data;
}

export type SignInMethods = NonNullable<ReturnType<typeof useSignInMethods>>;
