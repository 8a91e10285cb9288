/** How a key ends: another one takes its place, with time for both, or it is revoked at once. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Confirm, Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField } from "../../design/form.tsx";
import { useToast } from "../../design/toasts.tsx";

interface Props {
  /** null: not asked. */
  readonly of: ApiKey | null;
  /** The session that asks is this key's. */
  readonly isOwn: boolean;
  readonly onClose: () => void;
}

const OVERLAPS = [
  { value: "0", label: "None: the old key ends at once" },
  { value: "3600", label: "One hour" },
  { value: "86400", label: "One day" },
  { value: "604800", label: "Seven days" },
];

export function RotateDialog({
  of: key,
  isOwn,
  onClose,
  onMade,
}: Props & { readonly onMade: (secret: string) => void }) {
  return (
    <Dialog title="Rotate the key" open={key !== null} onClose={onClose}>
      {key === null ? null : <RotateForm of={key} isOwn={isOwn} onClose={onClose} onMade={onMade} />}
    </Dialog>
  );
}

function RotateForm({
  of: key,
  isOwn,
  onClose,
  onMade,
}: Props & { readonly of: ApiKey; readonly onMade: (secret: string) => void }) {
  const queries = useQueryClient();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [overlap, setOverlap] = useState("86400");
  const make = useMutation({
    // The answer is kept no longer than this form is there.
    gcTime: 0,
    mutationFn: async () =>
      await sluice.apiKeys.rotate(key.id, { overlap_seconds: Number(overlap) }, { idempotencyKey }),
    onSuccess: ({ secret }) => {
      void queries.invalidateQueries({ queryKey: ["keys"] });
      if (secret !== undefined) onMade(secret);
    },
  });
  return (
    <Form
      label="Rotate the key"
      error={make.error}
      fields={["overlap_seconds"]}
      onSubmit={() => make.mutate()}
      actions={<FormActions verb="Rotate" onCancel={onClose} busy={make.isPending} />}
    >
      <p>
        A new key with the name, scopes and expiry of <strong className="break">{key.name}</strong>. Both hold during
        the overlap, so that your program can change over without a gap.
      </p>
      <SelectField
        label="Overlap"
        name="overlap_seconds"
        error={make.error}
        value={overlap}
        onChange={setOverlap}
        // Ended at once, this session could not show the new secret any more.
        choices={isOwn ? OVERLAPS.filter(({ value }) => value !== "0") : OVERLAPS}
      />
      {isOwn ? (
        <Notice tone="warn" title="This session was opened with this key">
          It ends with the old key, when the overlap is over. Sign in with the new one then.
        </Notice>
      ) : null}
      {make.data !== undefined && make.data.secret === undefined ? (
        <Notice tone="warn" title="The new key is made, and its secret was lost with an answer">
          Revoke the new one, and rotate again.
        </Notice>
      ) : null}
    </Form>
  );
}

export function RevokeConfirm({ of: key, isOwn, onClose }: Props) {
  const queries = useQueryClient();
  const toast = useToast();
  const end = useMutation({
    mutationFn: async (id: string) => await sluice.apiKeys.revoke(id),
    onSuccess: () => {
      // With the own key this finds out that the session is over, and leads to the sign-in.
      void queries.invalidateQueries({ queryKey: ["keys"] });
      toast("The key is revoked.");
      onClose();
    },
  });
  return (
    <Confirm
      title="Revoke the key"
      confirm={isOwn ? "Revoke it and sign out" : "Revoke it"}
      danger
      open={key !== null}
      busy={end.isPending}
      error={end.error}
      onConfirm={() => {
        if (key !== null) end.mutate(key.id);
      }}
      onClose={() => {
        end.reset();
        onClose();
      }}
    >
      <div className="stack">
        <p>
          <strong className="break">{key?.name}</strong> ends at once, with all of its sessions. A program that has it
          is refused from the next call on. This cannot be taken back.
        </p>
        {isOwn ? (
          <Notice tone="warn" title="This is the key of this session">
            You are signed out with it. Make sure that you have another key with the scope admin.
          </Notice>
        ) : null}
      </div>
    </Confirm>
  );
}
