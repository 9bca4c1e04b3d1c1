import type { ExitRule, WorkflowGraph } from '../../../../../client/everpost.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { GoalFields } from '../../../goals/goal-fields.tsx';
import { goalRequest, goalValues } from '../../../goals/goal.ts';
import { useProject } from '../../../shell/project.ts';
import { WhereRows } from '../forms/parts/comparison.tsx';
import { EventField } from '../../../values/event-field.tsx';
import { Reentry } from '../forms/parts/reentry.tsx';

/** Name, re-entry, exit rules and goal of a workflow. */
export function SettingsForm({ workflow }: { workflow: WorkflowGraph }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const { id, name, description, allowReentry, reentry, executionKey, exitRules } = workflow;
  const first = {
    name,
    description: description ?? '',
    allowReentry,
    reentry,
    executionKey,
    exitRules: exitRules as readonly ExitRule[],
    goal: goalValues(workflow.goal),
  };
  const form = useForm(first, async (values) => {
    const { description: text, exitRules: rules, goal, ...others } = values;
    const body = {
      ...others,
      description: text === '' ? null : text,
      exitRules: [...rules],
      goal: goalRequest(goal),
    };
    await api.patch('/workflows/{id}', { path: { id }, body });
    await readAgain(project.id, 'workflows');
    say('Saved.');
  });
  return (
    <Form form={form} label="Settings">
      <TextField label="Name" {...form.field('name')} />
      <TextField label="Description" {...form.field('description')} />
      <Reentry values={form.values} onChange={form.set} errorOf={form.errorOf} />
      <ExitRules
        rules={form.values.exitRules}
        onChange={(next) => form.set({ exitRules: next })}
        errorOf={form.errorOf}
      />
      <fieldset className="part">
        <legend>Goal</legend>
        <GoalFields
          value={form.values.goal}
          onChange={(goal) => form.set({ goal })}
          errorOf={form.errorOf}
        />
      </fieldset>
      <Button kind="primary" type="submit" isBusy={form.isBusy}>
        Save
      </Button>
    </Form>
  );
}

function ExitRules({
  rules,
  onChange,
  errorOf,
}: {
  rules: readonly ExitRule[];
  onChange: (rules: readonly ExitRule[]) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const setRule = (at: number, changes: Partial<ExitRule>) =>
    onChange(rules.map((rule, index) => (index === at ? { ...rule, ...changes } : rule)));
  return (
    <fieldset className="field">
      <legend>Exit rules</legend>
      <span className="hint">An event that ends the journey of its contact, at whatever step.</span>
      {rules.map((rule, at) => (
        <div className="part" key={at}>
          <EventField
            value={rule.eventName}
            error={errorOf(`exitRules.${at}.eventName`)}
            onChange={(eventName) => setRule(at, { eventName })}
          />
          <TextField
            label="Reason"
            value={rule.reason}
            error={errorOf(`exitRules.${at}.reason`)}
            onChange={(reason) => setRule(at, { reason })}
          />
          <WhereRows
            value={rule.where}
            eventName={rule.eventName}
            path={`exitRules.${at}.where`}
            errorOf={errorOf}
            onChange={(where) => setRule(at, { where: where as ExitRule['where'] })}
          />
          <div className="actions">
            <Button isSmall onClick={() => onChange(rules.filter((_, index) => index !== at))}>
              Remove exit rule
            </Button>
          </div>
        </div>
      ))}
      <div className="actions">
        <Button isSmall onClick={() => onChange([...rules, { eventName: '', reason: '' }])}>
          Add exit rule
        </Button>
      </div>
    </fieldset>
  );
}
