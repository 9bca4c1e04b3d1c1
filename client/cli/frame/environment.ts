/** The variables of the environment. An empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function variable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === '' ? undefined : value;
}
