import { z } from 'zod';
import { number, text, url } from '../../config-fields.ts';

/** Variables of the payment provider, and the free tier. */
export const billingVariables = {
  STRIPE_SECRET_KEY: text,
  STRIPE_WEBHOOK_SECRET: text,
  STRIPE_PRICE_ONBOARDING: text,
  STRIPE_PRICE_EMAIL_USAGE: text,
  STRIPE_METER_EVENT_NAME: z.string().default('emails'),
  STRIPE_API_BASE: url.optional(),
  FREE_TIER_EMAILS_PER_MONTH: number(1000),
};

/** Returns the billing settings; null: the server has no billing and no limits of plans. */
export function billingSettings(env: z.output<z.ZodObject<typeof billingVariables>>) {
  if (!env.STRIPE_SECRET_KEY) return null;
  return {
    secretKey: env.STRIPE_SECRET_KEY,
    webhookSecret: env.STRIPE_WEBHOOK_SECRET ?? '',
    priceOnboarding: env.STRIPE_PRICE_ONBOARDING ?? '',
    priceEmailUsage: env.STRIPE_PRICE_EMAIL_USAGE ?? '',
    meterEventName: env.STRIPE_METER_EVENT_NAME,
    apiBase: env.STRIPE_API_BASE ?? null,
    freeTierPerMonth: env.FREE_TIER_EMAILS_PER_MONTH,
  };
}
