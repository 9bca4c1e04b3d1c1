import { DropdownMenu as Radix } from 'radix-ui';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Branch } from '../../../journey/graph.ts';

export interface MenuChoice {
  value: string;
  text: string;
  disabledBecause?: string | null;
}

/**
 * A menu in two steps: first a branch, then one of the branch's choices. A single branch skips the
 * first step. Without `choicesOf`, there is no second step.
 */
export function BranchMenu({
  button,
  branches,
  choicesOf,
  onChoose,
}: {
  button: ReactNode;
  branches: readonly Branch[];
  choicesOf?: (branch: string | null) => readonly MenuChoice[];
  onChoose: (branch: string | null, value: string) => void;
}) {
  const [branch, setBranch] = useState<Branch | null>(null);
  const content = useRef<HTMLDivElement>(null);
  const only = branches.length === 1 && choicesOf ? branches[0]! : null;
  const chosen = only ?? branch;
  useEffect(() => {
    if (branch) content.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
  }, [branch]);
  return (
    <Radix.Root modal={false} onOpenChange={(isOpen) => isOpen && setBranch(null)}>
      <Radix.Trigger asChild>{button}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          ref={content}
          className="menu"
          sideOffset={4}
          collisionPadding={8}
          align="start"
        >
          {!chosen &&
            branches.map((one) => (
              <Radix.Item
                key={`branch ${one.id}`}
                onSelect={(event) => {
                  if (!choicesOf) return onChoose(one.id, '');
                  event.preventDefault();
                  setBranch(one);
                }}
              >
                {one.name}
              </Radix.Item>
            ))}
          {chosen && !only && <Radix.Label className="label">{chosen.name}</Radix.Label>}
          {chosen &&
            choicesOf?.(chosen.id).map(({ value, text, disabledBecause }) => (
              <Radix.Item
                key={value}
                disabled={Boolean(disabledBecause)}
                title={disabledBecause ?? undefined}
                onSelect={() => onChoose(chosen.id, value)}
              >
                {text}
              </Radix.Item>
            ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
