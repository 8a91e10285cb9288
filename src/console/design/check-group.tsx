/** Choices of which any number may be taken, each with what it means. */

import { type ReactNode, useId } from "react";
import { CheckField } from "./form.tsx";

export interface Checkable<Value extends string> {
  readonly value: Value;
  readonly meaning: string;
}

export function CheckGroup<Value extends string>({
  label,
  hint,
  choices,
  chosen,
  onChange,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly choices: readonly Checkable<Value>[];
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: Value[]) => void;
}) {
  const hintId = useId();
  return (
    <fieldset
      style={{ margin: 0, padding: 0, border: 0, minWidth: 0 }}
      aria-describedby={hint === undefined ? undefined : hintId}
    >
      <legend className="field-label" style={{ padding: 0, marginBottom: 6 }}>
        {label}
      </legend>
      <div className="stack stack-tight">
        {choices.map(({ value, meaning }) => (
          <CheckField
            key={value}
            label={value}
            hint={meaning}
            checked={chosen.includes(value)}
            // In the order of the choices, however they were taken.
            onChange={(on) =>
              onChange(choices.map((one) => one.value).filter((one) => (one === value ? on : chosen.includes(one))))
            }
          />
        ))}
        {hint === undefined ? null : (
          <span className="field-hint" id={hintId}>
            {hint}
          </span>
        )}
      </div>
    </fieldset>
  );
}
