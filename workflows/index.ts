export { customerWorkflow } from './execution.ts';
export { deliveryLane } from './delivery.ts';
export { sweep } from './sweep.ts';
