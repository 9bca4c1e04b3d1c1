const traffic = 'daily traffic: the request log and the records themselves show it';
const nothing = 'changes nothing';
const members = 'members of a segment follow from contacts and their data';
const single = 'one execution or mail: its history shows it';
const begins = 'changes nothing before its second request, which has an entry';

/** The endpoints whose changes have no entry in the security log, with the reasons. */
export const exceptions: Record<string, string> = {
  send: traffic,
  sendBatch: traffic,
  track: traffic,
  trackEvent: traffic,
  verify: nothing,
  upsertContact: traffic,
  updateContact: traffic,
  updateContactTopics: traffic,
  uploadImage: traffic,
  lookUpContacts: nothing,
  queryContacts: nothing,
  countCampaignAudience: nothing,
  checkWorkflow: nothing,
  addSegmentMembers: members,
  removeSegmentMembers: members,
  computeSegment: members,
  refreshSegment: members,
  previewTemplate: nothing,
  previewStoredTemplate: nothing,
  previewRouting: nothing,
  dryRunEdit: nothing,
  createPlan: nothing,
  simulateExecution: nothing,
  testCampaign: nothing,
  testTemplate: nothing,
  testEventSubscription: nothing,
  testProvider: nothing,
  startExecution: single,
  cancelExecution: single,
  pauseExecution: single,
  resumeExecution: single,
  retryExecution: single,
  skipStep: single,
  moveWait: single,
  updateEmail: single,
  deleteEmail: single,
  requestVerification: 'sends one more mail, and changes nothing else',
  createPasskeyOptions: begins,
  addTotp: begins,
  linkMyIdentity: begins,
};
