/** Results of a dry run in words. */

export const verdictText = {
  same: 'Goes the same way',
  differs: 'Goes another way',
  unmappable: 'Cannot move',
} as const;

export const reasonText = {
  config: 'The settings of the step differ.',
  next_step: 'Another step follows.',
  branches: 'The branches of the step differ.',
  template: 'The mail has another template.',
  exit_rules: 'The exit rules differ.',
  step_gone: 'The step no longer exists.',
  type_changed: 'The step has another type.',
} as const;
