/** Dialogs: one for forms and details, and one that asks before something is done that cannot be taken back. */

import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { ErrorNotice } from "./answers.tsx";
import { Button } from "./button.tsx";

export function Dialog({
  title,
  open,
  onClose,
  children,
  dismissible = true,
}: {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** false: only its own buttons close it, as with a secret that is shown once. */
  readonly dismissible?: boolean;
}) {
  return (
    <BaseDialog.Root
      open={open}
      disablePointerDismissal={!dismissible}
      onOpenChange={(next) => {
        if (!next && dismissible) onClose();
      }}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" style={{ zIndex: 10 }} />
        <BaseDialog.Popup className="dialog" style={{ zIndex: 11 }}>
          <BaseDialog.Title>{title}</BaseDialog.Title>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** Asks first. The dialog stays open until what was confirmed is done, and shows why it was refused. */
export function Confirm({
  title,
  children,
  confirm,
  danger = false,
  open,
  busy,
  error,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  readonly children: ReactNode;
  /** What the button does, as a verb. */
  readonly confirm: string;
  readonly danger?: boolean;
  readonly open: boolean;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" style={{ zIndex: 10 }} />
        <AlertDialog.Popup className="dialog" style={{ zIndex: 11 }}>
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />}>{children}</AlertDialog.Description>
          {error === null || error === undefined ? null : <ErrorNotice error={error} />}
          <div className="dialog-actions">
            <Button onClick={onClose}>Leave it</Button>
            <Button look={danger ? "danger" : "main"} busy={busy} onClick={onConfirm}>
              {confirm}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** A secret, which the service shows once. */
export function SecretDialog({
  title,
  secret,
  onClose,
  children,
}: {
  readonly title: string;
  readonly secret: string | null;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Dialog title={title} open={secret !== null} onClose={onClose} dismissible={false}>
      {children}
      <output className="code" aria-label="Secret">
        {secret}
      </output>
      <div className="dialog-actions">
        <Button onClick={() => void navigator.clipboard.writeText(secret ?? "")}>Copy it</Button>
        <Button look="main" onClick={onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  );
}
