import type { ComponentProps, ReactNode } from 'react';

type Kind = 'primary' | 'danger' | 'plain';

interface ButtonProps extends Omit<ComponentProps<'button'>, 'disabled'> {
  kind?: Kind;
  isSmall?: boolean;
  /** True: the button waits for a response, and pressing it again has no effect. */
  isBusy?: boolean;
  /** The reason why the button is disabled, as a sentence, shown as a tooltip. */
  disabledBecause?: string | false | null;
  children: ReactNode;
}

/**
 * A button. When disabled, it can still have the focus, so that screen readers read the reason.
 * Browsers skip buttons with the attribute `disabled`.
 */
export function Button({
  kind,
  isSmall = false,
  isBusy = false,
  disabledBecause,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  const isOff = isBusy || Boolean(disabledBecause);
  return (
    <button
      {...rest}
      type={type}
      className={['button', kind, isSmall && 'small'].filter(Boolean).join(' ')}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      title={disabledBecause || rest.title}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {isBusy && <span className="turning" aria-hidden="true" />}
      {children}
    </button>
  );
}
