/** Buttons. One that works says so, keeps its focus, and takes no second click. */

import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps, ReactNode } from "react";

export interface ButtonProps extends Omit<ComponentProps<"button">, "className" | "style"> {
  readonly look?: "main" | "danger" | "plain" | undefined;
  readonly small?: boolean;
  /** What it does takes time and is under way. */
  readonly busy?: boolean | undefined;
  readonly children: ReactNode;
}

export function Button({ look, small = false, busy = false, disabled, children, ...rest }: ButtonProps) {
  const classes = ["button", look === undefined ? "" : `button-${look}`, small ? "button-small" : ""];
  return (
    <BaseButton
      type="button"
      {...rest}
      className={classes.filter((one) => one !== "").join(" ")}
      disabled={disabled === true || busy}
      focusableWhenDisabled={busy}
      aria-busy={busy}
    >
      {busy ? "Working …" : children}
    </BaseButton>
  );
}
