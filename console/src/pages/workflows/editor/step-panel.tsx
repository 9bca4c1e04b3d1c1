import type { Dispatch } from 'react';
import { Button } from '../../../design/button.tsx';
import { TextField } from '../../../design/fields.tsx';
import { State } from '../../../design/parts.tsx';
import type { EditAction } from '../../../journey/editing.ts';
import {
  addedTypes,
  branchesOf,
  findWay,
  type Journey,
  type Step,
  type StepType,
  targetsOf,
  typeNames,
} from '../../../journey/graph.ts';
import type { Finding } from '../../../journey/problems.ts';
import { StepForm } from '../forms/step-form.tsx';
import { BranchMenu } from './branch-menu.tsx';

/** The form of the chosen step, and the actions on it for users without a pointer. */
export function StepPanel({
  journey,
  step,
  findings,
  dispatch,
}: {
  journey: Journey;
  step: Step;
  findings: readonly Finding[];
  dispatch: Dispatch<EditAction>;
}) {
  const own = findings.filter(({ key }) => key === step.key);
  const errorOf = (field: string) => own.find((finding) => finding.field === field)?.message;
  return (
    <section className="card step-panel" aria-labelledby="step">
      <header>
        <h2 id="step">Step</h2>
        <span className="second">{typeNames[step.type]}</span>
      </header>
      <div className="body">
        <TextField
          label="Step name"
          value={step.name}
          error={errorOf('name')}
          onChange={(name) =>
            dispatch({ type: 'change', key: step.key, field: 'name', change: { name } })
          }
        />
        <StepForm key={step.key} {...{ journey, step, dispatch, errorOf }} />
        {own
          .filter(({ field, isProblem }) => field === '' || !isProblem)
          .map(({ message, isProblem }) => (
            <p key={message} className="small">
              <State tone={isProblem ? 'bad' : 'warning'}>
                {isProblem ? 'Problem' : 'Warning'}
              </State>{' '}
              {message}
            </p>
          ))}
      </div>
      <footer>
        <StepActions {...{ journey, step, dispatch }} />
      </footer>
    </section>
  );
}

function StepActions({
  journey,
  step,
  dispatch,
}: {
  journey: Journey;
  step: Step;
  dispatch: Dispatch<EditAction>;
}) {
  const branches = branchesOf(journey, step);
  const taken = branches.filter(({ id }) => findWay(journey, step.key, id));
  const ending = step.type === 'EXIT' && 'The journey ends here.';
  const types = (branch: string | null) =>
    addedTypes.map((type) => ({
      value: type,
      text: typeNames[type],
      disabledBecause:
        type === 'EXIT' && findWay(journey, step.key, branch)
          ? 'A step follows here. Disconnect it first.'
          : null,
    }));
  const targets = targetsOf(journey, step);
  const disconnect = (branch: string | null) =>
    dispatch({ type: 'disconnect', from: step.key, branch });
  return (
    <div className="actions">
      {ending ? (
        <Button disabledBecause={ending}>Add step after</Button>
      ) : (
        <BranchMenu
          button={<Button kind="primary">Add step after</Button>}
          branches={branches}
          choicesOf={types}
          onChoose={(branch, type) =>
            dispatch({ type: 'add', stepType: type as StepType, after: step.key, branch })
          }
        />
      )}
      {ending || targets.length === 0 ? (
        <Button disabledBecause={ending || 'There is no step to which it could lead.'}>
          Connect to
        </Button>
      ) : (
        <BranchMenu
          button={<Button>Connect to</Button>}
          branches={branches}
          choicesOf={() => targets.map(({ key, name }) => ({ value: key, text: name }))}
          onChoose={(branch, to) => dispatch({ type: 'connect', from: step.key, branch, to })}
        />
      )}
      {taken.length > 1 ? (
        <BranchMenu button={<Button>Disconnect</Button>} branches={taken} onChoose={disconnect} />
      ) : (
        <Button
          disabledBecause={taken.length === 0 && 'It leads to no step.'}
          onClick={() => disconnect(taken[0]!.id)}
        >
          Disconnect
        </Button>
      )}
      <Button
        kind="danger"
        disabledBecause={step.type === 'TRIGGER' && 'Each workflow has one trigger.'}
        onClick={() => dispatch({ type: 'delete', key: step.key })}
      >
        Delete step
      </Button>
    </div>
  );
}
