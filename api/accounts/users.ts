import { z } from 'zod';
import { findUser } from '../../db/users.ts';
import { Problem } from '../../domain/errors.ts';
import { endpoint } from '../endpoint.ts';
import { Time, time } from '../schemas.ts';

const User = z.object({
  id: z.uuid(),
  email: z.string(),
  type: z.enum(['PASSWORD', 'GITHUB_OAUTH', 'GOOGLE_OAUTH']),
  emailVerified: z.boolean(),
  createdAt: Time,
});

const getMe = endpoint({
  id: 'getMe',
  method: 'GET',
  path: '/users/@me',
  tag: 'Accounts',
  summary: 'Get the logged-in user',
  access: 'session',
  response: User,
  example: {
    response: {
      id: 'f0000000-0000-4000-8000-000000000001',
      email: 'ada@shop.example',
      type: 'PASSWORD',
      emailVerified: true,
      createdAt: '2026-11-20T10:00:00.000Z',
    },
  },
  async handle({ db, caller }) {
    const user = await findUser(db, caller.userId);
    // Deleted since the session was read.
    if (!user) throw new Problem('UNAUTHORIZED');
    return {
      id: user.id,
      email: user.email,
      type: user.type as z.input<typeof User>['type'],
      emailVerified: user.email_verified,
      createdAt: time(user.created_at),
    };
  },
});

export const userEndpoints = [getMe];
