/** A step that cannot be done, however often it is tried. The text is for the customer. */
export class StepFailure extends Error {}
