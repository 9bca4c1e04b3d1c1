/**
 * What is logged of an error: its kind, its message and what it was about. Never the rest, because
 * errors contain data: PostgreSQL's the whole row that was refused, clients' the request.
 */
export function loggedError(error: unknown, { withStack }: { withStack: boolean }): unknown {
  if (!(error instanceof Error)) return typeof error;
  const { code, table, constraint } = error as Error &
    Partial<Record<'code' | 'table' | 'constraint', unknown>>;
  const about = Object.fromEntries(
    Object.entries({ code, table, constraint }).filter(([, value]) => typeof value === 'string'),
  );
  return {
    type: error.name,
    message: error.message,
    ...about,
    ...(withStack ? { stack: error.stack } : {}),
    ...(error.cause instanceof Error ? { cause: loggedError(error.cause, { withStack }) } : {}),
  };
}
