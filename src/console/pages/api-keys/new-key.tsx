/** A new key: its name, what it may do, and when it ends. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Scope } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { CheckGroup } from "../../design/check-group.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField, TextField } from "../../design/form.tsx";
import { EXPIRIES, expiryOf, SCOPES } from "./keys.ts";

interface Props {
  readonly onClose: () => void;
  readonly onMade: (secret: string) => void;
}

export function NewKeyDialog({ open, ...props }: Props & { readonly open: boolean }) {
  return (
    <Dialog title="Create a key" open={open} onClose={props.onClose}>
      <NewKeyForm {...props} />
    </Dialog>
  );
}

function NewKeyForm({ onClose, onMade }: Props) {
  const queries = useQueryClient();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["read"]);
  const [expiry, setExpiry] = useState("never");
  const [at, setAt] = useState("");
  // Of the opened form, so that a repeated submission is the same one.
  const [openedAt] = useState(() => Date.now());
  const expiresAt = expiryOf(expiry, at, openedAt);
  const make = useMutation({
    // The answer is kept no longer than this form is there.
    gcTime: 0,
    mutationFn: async () =>
      await sluice.apiKeys.create(
        { name: name.trim(), scopes: [...scopes], expires_at: expiresAt ?? null },
        { idempotencyKey },
      ),
    onSuccess: ({ secret }) => {
      void queries.invalidateQueries({ queryKey: ["keys"] });
      if (secret !== undefined) onMade(secret);
    },
  });
  return (
    <Form
      label="Create a key"
      error={make.error}
      fields={["name", "expires_at"]}
      onSubmit={() => make.mutate()}
      actions={
        <FormActions
          verb="Create"
          onCancel={onClose}
          busy={make.isPending}
          disabled={name.trim() === "" || scopes.length === 0 || expiresAt === undefined}
        />
      }
    >
      <TextField
        label="Name"
        name="name"
        error={make.error}
        value={name}
        onChange={setName}
        placeholder="Payout service"
        hint="Say which program has it."
      />
      <CheckGroup
        label="Scopes"
        choices={SCOPES}
        chosen={scopes}
        onChange={setScopes}
        hint={scopes.length === 0 ? "Choose one at least." : undefined}
      />
      <SelectField label="Expires" name="expires" value={expiry} onChange={setExpiry} choices={EXPIRIES} />
      {expiry === "at" ? (
        <TextField
          label="At"
          name="expires_at"
          type="datetime-local"
          error={make.error}
          value={at}
          onChange={setAt}
          hint="In the time of this browser."
        />
      ) : null}
      {make.data !== undefined && make.data.secret === undefined ? (
        <Notice tone="warn" title="The key is made, and its secret was lost with an answer">
          Revoke it, and create another one.
        </Notice>
      ) : null}
    </Form>
  );
}
