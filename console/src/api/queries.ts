import { QueryClient, type QueryKey, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { EverpostError } from './api.ts';

/** Milliseconds until data are read again, by the number of reads since the data changed. */
const pauses = [2_000, 4_000, 8_000, 16_000, 30_000];

/**
 * Returns true for an error that may not occur again at the next attempt: no response, a busy
 * server, a server error.
 */
function mayPass(error: unknown): boolean {
  if (!(error instanceof EverpostError)) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

function pauseAfter(error: unknown, repeats: number): number {
  const { retryAfter = null } = error instanceof EverpostError ? error : {};
  return retryAfter === null ? Math.min(1_000 * 2 ** repeats, 30_000) : retryAfter * 1_000;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => mayPass(error) && failures < 3,
      retryDelay: (repeats, error) => pauseAfter(error, repeats),
      refetchOnWindowFocus: true,
      staleTime: 1_000,
    },
  },
});

/** The last read of a query, and how often the data were read again without a change. */
interface LastRead {
  data: unknown;
  times: number;
  readAt: number;
  /** Milliseconds until the next read. */
  pause: number;
}

const lastReads = new WeakMap<object, LastRead>();

/** Minimum milliseconds between two reads of unchanged data, counted over all queries of a page. */
const restMs = 6_500;
let nextRestAt = 0;

/**
 * Returns the milliseconds until unchanged data are read again, so that a page makes at most ten
 * such reads a minute.
 */
function pauseAtRest(pause: number, readAt: number): number {
  const at = Math.max(readAt + pause, nextRestAt);
  nextRestAt = at + restMs;
  return at - readAt;
}

/**
 * Reads data repeatedly: every 2 seconds while they change, then after 4, 8, 16 and 30 seconds. It
 * does not read while the window is hidden, and reads at once when the window comes to the front.
 */
export function useLive<T>(options: {
  key: QueryKey;
  read: () => Promise<T>;
  /** False: the data are read once, for example because they cannot change any more. */
  isLive?: boolean | ((data: T) => boolean);
  isEnabled?: boolean;
  /**
   * Milliseconds between two reads, in place of the usual growing pauses. For data whose count costs
   * the server much.
   */
  pauseMs?: number;
}): UseQueryResult<T> {
  const { key, read, isLive = true, isEnabled = true, pauseMs } = options;
  return useQuery<T>({
    queryKey: key,
    queryFn: read,
    enabled: isEnabled,
    placeholderData: (before) => before,
    refetchInterval(query) {
      const { data, dataUpdatedAt: readAt, error } = query.state;
      if (error) return pauseAfter(error, pauses.length);
      if (data === undefined) return pauses[0]!;
      if (!(typeof isLive === 'function' ? isLive(data) : isLive)) return false;
      const before = lastReads.get(query);
      if (before?.readAt === readAt) return before.pause;
      const times = before?.data === data ? before.times + 1 : 0;
      const usual = pauses[Math.min(times, pauses.length - 1)]!;
      const isAtRest = pauseMs !== undefined || times >= 3;
      const pause = isAtRest ? pauseAtRest(pauseMs ?? usual, readAt) : usual;
      lastReads.set(query, { data, times, readAt, pause });
      return pause;
    },
  });
}

/**
 * Reads data once, and again when the window comes to the front or the console has changed the
 * data.
 */
export function useRead<T>(
  key: QueryKey,
  read: () => Promise<T>,
  { isEnabled = true } = {},
): UseQueryResult<T> {
  return useQuery<T>({
    queryKey: key,
    queryFn: read,
    enabled: isEnabled,
    placeholderData: (before) => before,
  });
}

/** Reads all data again whose query key begins with this key, because these data were changed. */
export function readAgain(...key: QueryKey): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: key });
}
