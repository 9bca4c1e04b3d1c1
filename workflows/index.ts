export { customerWorkflow } from './execution.ts';
export { deliveryQueue, deliveryQueue as deliveryLane } from './delivery.ts';
export { sweep } from './sweep.ts';
export { bulkContacts } from './bulk-contacts.ts';
export { contactImport } from './contact-import.ts';
export { domainPoller } from './domain-poller.ts';
export { projectDelete, projectReset } from './project-deletion.ts';
export { systemMail, systemMail as singleMail } from './system-mail.ts';
export { campaignSend } from './campaign.ts';
