import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/** Returns a name without spaces, because the ids of tabs and panels contain it. */
const keyOf = (name: string) => name.replaceAll(' ', '-');

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
      defaultValue={keyOf(tabs[0]?.name ?? '')}
      {...(value !== undefined && { value: keyOf(value) })}
      {...(onChange && {
        onValueChange: (key) => onChange(tabs.find(({ name }) => keyOf(name) === key)!.name),
      })}
    >
      <Radix.List aria-label={label}>
        {tabs.map(({ name }) => (
          <Radix.Trigger key={name} value={keyOf(name)}>
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ name, content }) => (
        <Radix.Content key={name} value={keyOf(name)}>
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
