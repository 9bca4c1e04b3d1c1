import { useEffect } from 'react';
import type { Everpost } from '../../../client/everpost.ts';
import { accountApi } from '../api/api.ts';
import { queryClient, useLive } from '../api/queries.ts';
import { remember, useMemory } from './memory.ts';

type Step = 'key' | 'domain' | 'email' | 'contacts' | 'workflow';

type Steps = Record<Step, boolean>;

/** The project, and the user's address, which does not count as a contact. */
interface Place {
  api: Everpost;
  projectId: string;
  email: string;
}

/** Returns true if the project has a contact other than the user. */
async function hasOthers(api: Everpost, contacts: number, email: string): Promise<boolean> {
  if (contacts !== 1) return contacts > 1;
  const { data } = await api.get('/contacts', { query: { limit: 1 } });
  return data.some((contact) => contact.email !== email);
}

const readConfig = () =>
  queryClient.query({
    queryKey: ['config'],
    queryFn: () => accountApi.get('/config'),
    staleTime: Infinity,
  });

/** Returns true if one of the newest mails of the project was delivered. */
async function hasDelivered(api: Everpost): Promise<boolean> {
  const [{ data }, { features }] = await Promise.all([
    api.get('/emails', { query: { limit: 20 } }),
    readConfig(),
  ]);
  // Without delivery reports, `deliveredAt` stays null.
  const isThere = features.email.deliveryReports ? 'deliveredAt' : 'sentAt';
  return data.some((mail) => mail.sourceType !== 'INBOUND' && mail[isThere] !== null);
}

/**
 * Steps whose state the API knows. The step `key` is missing, because only the browser knows if the
 * key was copied.
 */
type Read = Omit<Steps, 'key'>;

/** Reads which steps are done. Mail and contacts are not read again after they were done. */
async function readSteps(api: Everpost, id: string, email: string): Promise<Read> {
  const before = queryClient.getQueryData<Read>([id, 'start']);
  const [{ data: setup }, isDelivered] = await Promise.all([
    api.get('/projects/{id}/setup-state', { path: { id } }),
    before?.email === true || hasDelivered(api),
  ]);
  return {
    domain: setup.hasVerifiedDomain,
    email: isDelivered,
    contacts: before?.contacts === true || (await hasOthers(api, setup.contactCount, email)),
    workflow: setup.hasEnabledWorkflow,
  };
}

const areAllDone = (steps: Read) => Object.values(steps).every(Boolean);

/** Returns which steps of the page `Get started` are done; undefined: the state is not read yet. */
export function useSteps(
  { api, projectId, email }: Place,
  { isLive }: { isLive: boolean },
): Steps | undefined {
  const { isKeyCopied = false, isHidden = false, isDone = false } = useMemory(projectId);
  const { data } = useLive({
    key: [projectId, 'start'],
    read: () => readSteps(api, projectId, email),
    isLive: (steps) => isLive && !areAllDone(steps),
    isEnabled: isLive || !(isHidden || isDone),
  });
  // If all other steps are done, the key was copied, maybe in another browser.
  const isRunning = data !== undefined && areAllDone(data);
  useEffect(() => {
    if (isRunning && !isDone) remember(projectId, { isDone: true });
  }, [isRunning, isDone, projectId]);
  return data && { key: isKeyCopied || isRunning, ...data };
}

/**
 * Returns true while the navigation shows `Get started`: until all steps are done or the user hides
 * it.
 */
export function useIsStarting(place: Place): boolean {
  const { isHidden, isDone } = useMemory(place.projectId);
  const steps = useSteps(place, { isLive: false });
  return !isHidden && !isDone && steps !== undefined;
}
