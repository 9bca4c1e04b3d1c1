import {
  type ConcludeActivationInput,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow';

/** The commands that a run's code issued in one activation. */
export interface IssuedCommands {
  /**
   * Length of the history when the workflow task started, which equals the id of the event
   * `WorkflowTaskStarted`.
   */
  historyLength: number;
  /** The commands in the order in which the code issued them. */
  commands: IssuedCommand[];
}

export interface IssuedCommand {
  /** The SDK's name of the command, such as `startTimer`. */
  kind: string;
  /**
   * The type of the activity that the command schedules, or the id of a patch (`patched()`); null
   * for other commands.
   */
  name: string | null;
}

export interface CommandSinks extends Sinks {
  commands: { issued(issued: IssuedCommands): void };
}

/**
 * Interceptors that run in the workflow sandbox when histories are replayed. The interceptors
 * record the commands of the code without changing them, so that a divergence can be explained.
 */
export function interceptors(): WorkflowInterceptors {
  const { commands } = proxySinks<CommandSinks>();
  let historyLength = 0;
  return {
    internals: [
      {
        activate(input, next) {
          historyLength = input.activation.historyLength ?? 0;
          // An empty list is recorded first, because an activation whose code throws is never
          // concluded.
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
