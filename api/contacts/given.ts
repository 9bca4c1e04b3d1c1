import { z } from 'zod';
import { ContactData, Email } from '../http/schemas.ts';

/** An example contact in a request, for previews and simulations. */
export const GivenContact = z
  .object({ email: Email, subscribed: z.boolean().default(true), data: ContactData.optional() })
  .describe('An invented contact');
