import { z } from 'zod';
import { findSetupState } from '../../db/projects/projects.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time, ById } from '../http/schemas.ts';

const setup = {
  hasSubscription: false,
  hasVerifiedDomain: true,
  contactCount: 128,
  lastCampaignSentAt: null,
  hasEnabledWorkflow: true,
};

const getSetupState = endpoint({
  id: 'getSetupState',
  method: 'GET',
  path: '/projects/{id}/setup-state',
  summary: 'Get the setup progress of a project',
  description: 'Says which of the first steps are done.',
  access: 'project',
  projectParam: 'id',
  wrapped: true,
  params: ById,
  response: z.object({
    hasSubscription: z.boolean(),
    hasVerifiedDomain: z.boolean(),
    contactCount: z.int(),
    lastCampaignSentAt: Time.nullable(),
    hasEnabledWorkflow: z.boolean(),
  }),
  example: { response: setup },
  async handle({ db, member }) {
    const state = await findSetupState(db, member.projectId);
    return { ...state, lastCampaignSentAt: time(state.lastCampaignSentAt) };
  },
});

export const setupEndpoints = [getSetupState];
