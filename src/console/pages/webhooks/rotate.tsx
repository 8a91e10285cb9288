/** Another secret or key for an endpoint, with time in which either one signs. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { WebhookEndpoint } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField } from "../../design/form.tsx";
import { type MadeSecret, useTakeSecret } from "./receiver.ts";

interface Props {
  readonly onClose: () => void;
  readonly onMade: (made: MadeSecret) => void;
}

const OVERLAPS = [
  { value: "0", label: "None: the old one ends at once" },
  { value: "3600", label: "One hour" },
  { value: "86400", label: "One day" },
  { value: "604800", label: "Seven days" },
];

/** @param of null: not asked */
export function RotateSecretDialog({ of: endpoint, ...props }: Props & { readonly of: WebhookEndpoint | null }) {
  const title = endpoint?.signature === "v1a" ? "Rotate the key" : "Rotate the secret";
  return (
    <Dialog title={title} open={endpoint !== null} onClose={props.onClose}>
      {endpoint === null ? null : <RotateForm {...props} of={endpoint} />}
    </Dialog>
  );
}

function RotateForm({ of: endpoint, onClose, onMade }: Props & { readonly of: WebhookEndpoint }) {
  const queries = useQueryClient();
  const takeSecret = useTakeSecret();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [overlap, setOverlap] = useState("86400");
  const rotate = useMutation({
    // The answer has the secret: it is kept no longer than this form is there.
    gcTime: 0,
    mutationFn: async () =>
      takeSecret(
        await sluice.webhookEndpoints.rotateSecret(
          endpoint.id,
          { overlap_seconds: Number(overlap) },
          { idempotencyKey },
        ),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      onMade(made);
    },
  });
  return (
    <Form
      label="Rotate"
      error={rotate.error}
      fields={["overlap_seconds"]}
      onSubmit={() => rotate.mutate()}
      actions={<FormActions verb="Rotate" onCancel={onClose} busy={rotate.isPending} />}
    >
      <p>
        During the overlap each delivery has two signatures, one with the old and one with the new. Give your receiver
        the new one beside the old one, and take the old one away when the overlap is over.
      </p>
      <SelectField
        label="Overlap"
        name="overlap_seconds"
        error={rotate.error}
        value={overlap}
        onChange={setOverlap}
        choices={OVERLAPS}
        hint={overlap === "0" ? "Deliveries fail until your receiver has the new one, and are made again." : undefined}
      />
    </Form>
  );
}
