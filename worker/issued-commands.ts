import {
  type ConcludeActivationInput,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

/** What the code of a run asked for at one moment of deciding. */
export interface IssuedCommands {
  /** Event the history had come to: the start of the workflow task. */
  historyLength: number;
  /** In the order in which they were issued. */
  commands: IssuedCommand[];
}

export interface IssuedCommand {
  /** As Temporal's SDK calls it, such as `startTimer`. */
  kind: string;
  /** Of an activity its type, of a change its id. */
  name: string | null;
}

export interface CommandSinks extends Sinks {
  commands: { issued(issued: IssuedCommands): void };
}

/**
 * Runs in the workflow sandbox when histories are replayed, and only then: tells what the code
 * asks for, so that a divergence can be put into words. It changes nothing of it.
 */
export function interceptors(): WorkflowInterceptors {
  const { commands } = proxySinks<CommandSinks>();
  let historyLength = 0;
  return {
    internals: [
      {
        activate(input, next) {
          historyLength = input.activation.historyLength ?? 0;
          // Code that fails comes to no conclusion: so far it came.
          commands.issued({ historyLength, commands: [] });
          next(input);
        },
        concludeActivation(input, next) {
          const output = next(input);
          commands.issued({ historyLength, commands: output.commands.map(brief) });
          return output;
        },
      },
    ],
  };
}

function brief(command: ConcludeActivationInput['commands'][number]): IssuedCommand {
  const kind = Object.entries(command).find(([key, value]) => key !== 'userMetadata' && value);
  const name =
    command.scheduleActivity?.activityType ??
    command.scheduleLocalActivity?.activityType ??
    command.setPatchMarker?.patchId;
  return { kind: kind?.[0] ?? 'nothing', name: name ?? null };
}
