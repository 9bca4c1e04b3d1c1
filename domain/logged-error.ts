/**
 * What the log says about an error: its kind, its sentence and what it was about. Never the rest
 * of it, because errors quote: PostgreSQL the whole row that did not fit, clients the request.
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
