/**
 * Forms: fields with their label, hint and error, and what is sent when they are submitted. A refusal that names a
 * field is shown at that field, everything else above the buttons.
 */

import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Field as BaseField } from "@base-ui/react/field";
import { Select as BaseSelect } from "@base-ui/react/select";
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { SluiceError } from "../../sdk/errors.ts";
import { ErrorNotice } from "./answers.tsx";
import { Button } from "./button.tsx";

interface FieldFrame {
  readonly label: string;
  /** Of the field in the API's body: refusals name it. */
  readonly name: string;
  readonly hint?: ReactNode;
  /** What the last submission was refused with. */
  readonly error?: unknown;
}

function messageFor(error: unknown, name: string): string | null {
  if (!(error instanceof SluiceError)) return null;
  const own = error.errors.filter(({ path }) => path === name || path.startsWith(`${name}.`));
  return own.length === 0 ? null : own.map(({ message }) => message).join(" ");
}

export interface TextFieldProps extends FieldFrame {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly type?: "text" | "password" | "url" | "email" | "datetime-local";
  readonly inputMode?: "decimal" | "numeric" | "text";
  readonly autoComplete?: string;
  readonly mono?: boolean;
  readonly autoFocus?: boolean;
}

export function TextField({ label, name, hint, error, value, onChange, mono = false, ...input }: TextFieldProps) {
  const message = messageFor(error, name);
  return (
    <BaseField.Root className="field" name={name} invalid={message !== null}>
      <BaseField.Label className="field-label">{label}</BaseField.Label>
      <BaseField.Control
        className={mono ? "input mono" : "input"}
        value={value}
        onValueChange={(next) => onChange(next)}
        autoComplete="off"
        spellCheck={false}
        {...input}
      />
      {hint === undefined ? null : <BaseField.Description className="field-hint">{hint}</BaseField.Description>}
      {message === null ? null : (
        <BaseField.Error className="field-error" match>
          {message}
        </BaseField.Error>
      )}
    </BaseField.Root>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export function SelectField({
  label,
  name,
  hint,
  error,
  value,
  onChange,
  choices,
}: FieldFrame & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly Choice[];
}) {
  const message = messageFor(error, name);
  return (
    <BaseField.Root className="field" name={name} invalid={message !== null}>
      <BaseSelect.Root
        items={choices}
        value={value}
        modal={false}
        onValueChange={(next) => {
          if (next !== null) onChange(next);
        }}
      >
        <BaseSelect.Label className="field-label">{label}</BaseSelect.Label>
        <BaseSelect.Trigger className="select-trigger">
          <BaseSelect.Value />
          <BaseSelect.Icon aria-hidden>▾</BaseSelect.Icon>
        </BaseSelect.Trigger>
        <BaseSelect.Portal>
          <BaseSelect.Positioner sideOffset={4} alignItemWithTrigger={false} style={{ zIndex: 15 }}>
            <BaseSelect.Popup className="popup">
              {choices.map((choice) => (
                <BaseSelect.Item key={choice.value} value={choice.value} className="option">
                  <BaseSelect.ItemText>{choice.label}</BaseSelect.ItemText>
                </BaseSelect.Item>
              ))}
            </BaseSelect.Popup>
          </BaseSelect.Positioner>
        </BaseSelect.Portal>
      </BaseSelect.Root>
      {hint === undefined ? null : <BaseField.Description className="field-hint">{hint}</BaseField.Description>}
      {message === null ? null : (
        <BaseField.Error className="field-error" match>
          {message}
        </BaseField.Error>
      )}
    </BaseField.Root>
  );
}

export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div className="check">
      <BaseCheckbox.Root className="check-box" checked={checked} onCheckedChange={onChange} aria-labelledby={id}>
        <BaseCheckbox.Indicator aria-hidden>✓</BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span id={id}>
        {label}
        {hint === undefined ? null : <span className="field-hint"> {hint}</span>}
      </span>
    </div>
  );
}

/** What most forms end with: leave it, or do it. */
export function FormActions({
  verb,
  onCancel,
  busy,
  disabled,
}: {
  readonly verb: string;
  readonly onCancel: () => void;
  readonly busy?: boolean;
  /** What was filled in cannot be sent as it is. */
  readonly disabled?: boolean;
}) {
  return (
    <>
      <Button onClick={onCancel}>Cancel</Button>
      <Button look="main" type="submit" busy={busy} disabled={disabled}>
        {verb}
      </Button>
    </>
  );
}

/** @param error shown as a whole unless every part of it names one of `fields` */
export function Form({
  onSubmit,
  error,
  fields,
  actions,
  children,
  label,
}: {
  readonly onSubmit: () => void;
  readonly error: unknown;
  readonly fields: readonly string[];
  readonly actions: ReactNode;
  readonly children: ReactNode;
  readonly label: string;
}) {
  const shownAtFields =
    error instanceof SluiceError &&
    error.errors.length > 0 &&
    error.errors.every(({ path }) => fields.some((name) => path === name || path.startsWith(`${name}.`)));
  const form = useRef<HTMLFormElement>(null);
  // In a long form the field that was refused may be out of sight.
  useEffect(() => {
    if (error instanceof SluiceError) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  return (
    <form
      ref={form}
      className="stack"
      aria-label={label}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {error === null || error === undefined || shownAtFields ? null : <ErrorNotice error={error} />}
      <div className="dialog-actions">{actions}</div>
    </form>
  );
}
