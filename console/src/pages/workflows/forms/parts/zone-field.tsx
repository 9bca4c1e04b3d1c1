import { timeZone } from '../../../../words/times.ts';
import { OfferingField } from '../../../../values/event-field.tsx';

const zones = Intl.supportedValuesOf('timeZone');

/** A time zone. If allowed, `contact` stands for the zone of each contact. */
export function ZoneField({
  value,
  onChange,
  error,
  isOfContact = false,
}: {
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  isOfContact?: boolean;
}) {
  return (
    <OfferingField
      label="Time zone"
      value={value}
      onChange={onChange}
      error={error}
      offers={isOfContact ? ['contact', timeZone(), ...zones] : [timeZone(), ...zones]}
      hint={isOfContact ? '“contact” is the zone of each contact.' : undefined}
    />
  );
}
