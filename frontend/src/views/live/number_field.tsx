/** A field for a whole number that is not below a least one. */

interface NumberFieldProps {
  readonly label: string;
  readonly value: number;
  readonly least: number;
  readonly change: (value: number) => void;
  readonly testId: string;
}

const MOST = 1_000_000_000;

export function NumberField({ label, value, least, change, testId }: NumberFieldProps) {
  return (
    <input
      class="field framed field-number"
      type="number"
      aria-label={label}
      min={least}
      max={MOST}
      step={1}
      required
      data-testid={testId}
      value={value}
      onInput={(event) => {
        const typed = Math.floor(event.currentTarget.valueAsNumber);
        // A field that is being emptied keeps its last number.
        if (typed >= least && typed <= MOST) change(typed);
      }}
    />
  );
}
