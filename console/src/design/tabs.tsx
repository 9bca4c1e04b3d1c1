import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/** Tabs. To keep the chosen tab in the address, give `value` and `onChange`. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  label: string;
  tabs: readonly { name: string; content: ReactNode }[];
  value?: string;
  onChange?: (name: string) => void;
}) {
  return (
    <Radix.Root
      className="tabs"
      defaultValue={tabs[0]?.name}
      {...(value !== undefined && { value })}
      {...(onChange && { onValueChange: onChange })}
    >
      <Radix.List aria-label={label}>
        {tabs.map(({ name }) => (
          <Radix.Trigger key={name} value={name}>
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ name, content }) => (
        <Radix.Content key={name} value={name}>
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
