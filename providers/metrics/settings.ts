import { z } from 'zod';
import { number } from '../../config-fields.ts';

/** The usual port in production. */
export const metricsPortDefault = 9464;
/** Number of ports that are tried after the usual port if it is in use. */
const otherPortsMax = 9;

/** Variables of the endpoint that Prometheus asks. */
export const metricsVariables = {
  METRICS_PORT: number(undefined, 0, 65535),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, 'must have at least 16 characters, without spaces')
    .optional(),
};

export function metricsSettings(
  env: z.output<z.ZodObject<typeof metricsVariables>>,
  { isProduction }: { isProduction: boolean },
) {
  const { METRICS_PORT: given, METRICS_HOST: host, METRICS_TOKEN: token = null } = env;
  return {
    /** Port of the metrics; null: the metrics are not served. */
    port: (given ?? (isProduction ? metricsPortDefault : 0)) || null,
    /** Number of next ports that may be used if the port is in use. */
    otherPorts: given === undefined ? otherPortsMax : 0,
    host,
    /** The bearer token that a scraper must send; null: no token is needed. */
    token,
  };
}

export type MetricsSettings = ReturnType<typeof metricsSettings>;
