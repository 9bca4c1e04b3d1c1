import { accountApi } from '../api/api.ts';
import { useRead } from '../api/queries.ts';

/** How users of this server sign in; undefined: not read yet. */
export function useSignInMethods() {
  const { data } = useRead(['sign-in methods'], () => accountApi.get('/auth/methods'));
  return data?.data;
}

export type SignInMethods = NonNullable<ReturnType<typeof useSignInMethods>>;
