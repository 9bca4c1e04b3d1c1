import type { z } from 'zod';
import { fieldsOf, requireRights } from '../access/auth.ts';
import type { Caller } from '../access/caller.ts';
import { type AnyEndpoint, Answer, type Call } from '../http/endpoint.ts';
import { checkRequest } from '../http/validation.ts';

/** A request of a member for a page of a project. */
export type MemberCall = Call<
  'session',
  Record<string, string>,
  Record<string, string>,
  unknown,
  string
>;

export interface Request {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/**
 * Calls an endpoint for this member. As in the API, the member's rights, the endpoint's schemas and
 * its `check` apply; its `checkBeside` is not called.
 * @throws Problem as the endpoint.
 */
export async function ask<R extends z.ZodType>(
  call: MemberCall,
  endpoint: Asked<R>,
  request: Request = {},
): Promise<z.output<R>> {
  requireRights(endpoint, call.caller, call.member, request.body);
  const { access } = endpoint;
  const caller = access === 'session' || access === 'project' ? call.caller : call.member;
  return (await askAs(call, caller, endpoint, request)).data;
}

/**
 * Calls an endpoint for any caller, without checking rights. Also returns the response headers,
 * such as the cookie of a login.
 */
export async function askAs<R extends z.ZodType>(
  call: Pick<MemberCall, 'config'>,
  caller: Caller,
  endpoint: Asked<R>,
  { params = {}, query = {}, body }: Request,
): Promise<Answer<z.output<R>>> {
  endpoint.refuseFirst?.({ config: call.config, caller, body: fieldsOf(body) });
  const given = checkRequest(endpoint, { params, query, body });
  // The new call inherits all other properties from this request's call.
  const own: object = Object.create(call) as object;
  const asked = Object.assign(own, { ...given, caller, keyUse: null }) as AnyCall;
  await endpoint.check?.(asked);
  const result = await endpoint.handle(asked);
  const { data, options } = result instanceof Answer ? result : new Answer(result, {});
  const answered = endpoint.response.parse(data);
  // The list is read in parts; each part has the next items.
  for await (const part of options.parts ?? []) {
    const { data: items } = endpoint.response.parse(part) as { data: unknown[] };
    (answered as { data: unknown[] }).data.push(...items);
  }
  return new Answer(answered, options);
}

export type Asked<R extends z.ZodType> = AnyEndpoint & { response: R };

type AnyCall = Parameters<AnyEndpoint['handle']>[0];
