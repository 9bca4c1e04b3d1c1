import { z } from 'zod';
import { ContactData, Email } from '../http/schemas.ts';

/** A contact of a request, for trying something out. */
export const GivenContact = z
  .object({ email: Email, subscribed: z.boolean().default(true), data: ContactData.optional() })
  .describe('A contact that need not exist');
