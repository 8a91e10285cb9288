/** The form of an endpoint: a new one, or what may be changed of one that there is. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { EventType, SignatureScheme, WebhookEndpoint } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { CheckGroup } from "../../design/check-group.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField, TextField } from "../../design/form.tsx";
import { useToast } from "../../design/toasts.tsx";
import { DEFAULT_SET, EVENTS } from "./events.ts";
import { type MadeSecret, useTakeSecret } from "./receiver.ts";

const SIGNATURES = [
  { value: "v1", label: "v1: HMAC-SHA256, a secret that you keep" },
  { value: "v1a", label: "v1a: Ed25519, verified with a public key" },
];

interface Values {
  readonly url: string;
  readonly events: EventType[] | null;
  readonly description: string | null;
}

export function NewEndpointDialog({
  open,
  onClose,
  onMade,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onMade: (made: MadeSecret) => void;
}) {
  return (
    <Dialog title="Create an endpoint" open={open} onClose={onClose}>
      <NewEndpoint onClose={onClose} onMade={onMade} />
    </Dialog>
  );
}

function NewEndpoint({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (made: MadeSecret) => void;
}) {
  const queries = useQueryClient();
  const takeSecret = useTakeSecret();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [signature, setSignature] = useState<SignatureScheme>("v1");
  const make = useMutation({
    // The answer has the secret: it is kept no longer than this form is there.
    gcTime: 0,
    mutationFn: async (values: Values) =>
      takeSecret(await sluice.webhookEndpoints.create({ ...values, signature }, { idempotencyKey })),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      onMade(made);
    },
  });
  return (
    <EndpointForm
      label="Create an endpoint"
      verb="Create"
      begin={{ url: "", events: null, description: null }}
      error={make.error}
      busy={make.isPending}
      onSubmit={(values) => make.mutate(values)}
      onClose={onClose}
    >
      <SelectField
        label="Signature"
        name="signature"
        error={make.error}
        value={signature}
        onChange={(next) => setSignature(next as SignatureScheme)}
        choices={SIGNATURES}
        hint="Of Standard Webhooks 1.0.0, and for good: it cannot be changed later."
      />
    </EndpointForm>
  );
}

/** @param of null: not asked */
export function EditEndpointDialog({
  of: endpoint,
  onClose,
}: {
  readonly of: WebhookEndpoint | null;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Edit the endpoint" open={endpoint !== null} onClose={onClose}>
      {endpoint === null ? null : <EditEndpoint of={endpoint} onClose={onClose} />}
    </Dialog>
  );
}

function EditEndpoint({ of: endpoint, onClose }: { readonly of: WebhookEndpoint; readonly onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const change = useMutation({
    mutationFn: async (values: Values) => await sluice.webhookEndpoints.update(endpoint.id, values),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      toast("The endpoint is changed.");
      onClose();
    },
  });
  return (
    <EndpointForm
      label="Edit the endpoint"
      verb="Save"
      begin={endpoint}
      error={change.error}
      busy={change.isPending}
      onSubmit={(values) => change.mutate(values)}
      onClose={onClose}
    />
  );
}

function EndpointForm({
  label,
  verb,
  begin,
  error,
  busy,
  onSubmit,
  onClose,
  children,
}: {
  readonly label: string;
  readonly verb: string;
  readonly begin: Values;
  readonly error: unknown;
  readonly busy: boolean;
  readonly onSubmit: (values: Values) => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) {
  const [url, setUrl] = useState(begin.url);
  const [description, setDescription] = useState(begin.description ?? "");
  const [which, setWhich] = useState(begin.events === null ? "default" : "chosen");
  const [events, setEvents] = useState<EventType[]>(begin.events ?? ["deposit.confirmed", "deposit.reverted"]);
  const isEmpty = which === "chosen" && events.length === 0;
  return (
    <Form
      label={label}
      error={error}
      fields={["url", "events", "description", "signature"]}
      onSubmit={() =>
        onSubmit({
          url: url.trim(),
          events: which === "default" ? null : events,
          description: description.trim() === "" ? null : description.trim(),
        })
      }
      actions={<FormActions verb={verb} onCancel={onClose} busy={busy} disabled={url.trim() === "" || isEmpty} />}
    >
      <TextField
        label="URL"
        name="url"
        type="url"
        error={error}
        value={url}
        onChange={setUrl}
        placeholder="https://example.com/hooks/sluice"
        hint="https, a public name and port 443. A service on your own machine sends to that machine, too."
      />
      <TextField
        label="Description"
        name="description"
        error={error}
        value={description}
        onChange={setDescription}
        hint="A text for people."
      />
      <SelectField
        label="Events"
        name="events"
        error={error}
        value={which}
        onChange={setWhich}
        choices={[
          { value: "default", label: "The default set" },
          { value: "chosen", label: "Chosen types" },
        ]}
        hint={which === "default" ? `${DEFAULT_SET}.` : undefined}
      />
      {which === "chosen" ? (
        <CheckGroup
          label="Types"
          choices={EVENTS}
          chosen={events}
          onChange={setEvents}
          hint={isEmpty ? "Choose one at least." : undefined}
        />
      ) : null}
      {children}
    </Form>
  );
}
