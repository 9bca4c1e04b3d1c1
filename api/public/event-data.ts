import { jsonBytes } from '../../domain/contact/data.ts';
import { limits } from '../../domain/limits.ts';

/** Arguments of a refinement that limits the data of an event. */
export const withinEventData = [
  (data: unknown) => jsonBytes(data ?? null) <= limits.eventDataBytes,
  {
    params: { code: 'too_big' },
    error: ({ input }: { input?: unknown }) =>
      `Must have at most ${limits.eventDataBytes} bytes as JSON, not ${jsonBytes(input ?? null)}.`,
  },
] as const;
