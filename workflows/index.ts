export { customerWorkflow } from './execution.ts';
export { deliveryLane } from './delivery.ts';
export { sweep } from './sweep.ts';
export { bulkContacts } from './bulk-contacts.ts';
export { contactImport } from './contact-import.ts';
export { domainPoller } from './domain-poller.ts';
export { projectDelete, projectReset } from './project-deletion.ts';
export { singleMail } from './single-mail.ts';
export { campaignSend } from './campaign.ts';
