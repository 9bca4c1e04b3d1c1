import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

interface Choice {
  text: string;
  isChosen: boolean;
  onChoose: () => void;
}

export type MenuItem =
  | { kind?: 'item'; text: string; onChoose: () => void; disabledBecause?: string | false | null }
  | ({ kind: 'choice' } & Choice)
  /** Choices that exclude each other, in a group with this name. */
  | { kind: 'choices'; text: string; choices: readonly Choice[] }
  /**
   * An item that is on or off, independent of other items. The menu stays open when the item is
   * chosen.
   */
  | { kind: 'check'; text: string; isChosen: boolean; onChoose: () => void }
  | { kind: 'label'; text: string }
  | { kind: 'line' };

/** A menu that opens below its button. */
export function Menu({ button, items }: { button: ReactNode; items: readonly MenuItem[] }) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{button}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="menu" sideOffset={4} collisionPadding={8} align="start">
          {items.map((item, index) => (
            <Item key={'text' in item ? item.text : index} item={item} />
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Item({ item }: { item: MenuItem }) {
  if (item.kind === 'line') return <Radix.Separator />;
  if (item.kind === 'label') return <Radix.Label className="label">{item.text}</Radix.Label>;
  if (item.kind === 'choice') return <ChoiceItem choice={item} />;
  if (item.kind === 'choices') {
    return (
      <Radix.Group aria-label={item.text}>
        <Radix.Label className="label">{item.text}</Radix.Label>
        {item.choices.map((choice) => (
          <ChoiceItem key={choice.text} choice={choice} />
        ))}
      </Radix.Group>
    );
  }
  if (item.kind === 'check') {
    return (
      <Radix.CheckboxItem
        checked={item.isChosen}
        onCheckedChange={item.onChoose}
        onSelect={(event) => event.preventDefault()}
      >
        <span aria-hidden="true" className="tick">
          {item.isChosen ? '✓' : ''}
        </span>
        {item.text}
      </Radix.CheckboxItem>
    );
  }
  const { text, onChoose, disabledBecause } = item;
  return (
    <Radix.Item
      disabled={Boolean(disabledBecause)}
      title={disabledBecause || undefined}
      onSelect={onChoose}
    >
      {text}
    </Radix.Item>
  );
}

function ChoiceItem({ choice: { text, isChosen, onChoose } }: { choice: Choice }) {
  return (
    <Radix.CheckboxItem role="menuitemradio" checked={isChosen} onCheckedChange={onChoose}>
      {text}
    </Radix.CheckboxItem>
  );
}
