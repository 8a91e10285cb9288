/** Sends past events to an endpoint again: chosen first, then confirmed with what was chosen. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Replay, WebhookEndpoint } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Confirm, Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField, TextField } from "../../design/form.tsx";
import { useToast } from "../../design/toasts.tsx";
import { replayFrom } from "./replay-from.ts";

const KINDS = [
  { value: "sequence", label: "After a sequence" },
  { value: "time", label: "From a time on" },
];

interface Props {
  readonly onClose: () => void;
}

/** @param of null: not asked */
export function ReplayDialog({ of: endpoint, onClose }: Props & { readonly of: WebhookEndpoint | null }) {
  return (
    <Dialog title="Replay events" open={endpoint !== null} onClose={onClose}>
      {endpoint === null ? null : <ReplayForm of={endpoint} onClose={onClose} />}
    </Dialog>
  );
}

function ReplayForm({ of: endpoint, onClose }: Props & { readonly of: WebhookEndpoint }) {
  const [kind, setKind] = useState("sequence");
  const [sequence, setSequence] = useState("0");
  const [time, setTime] = useState("");
  const [chosen, setChosen] = useState<Replay | null>(null);
  const from = replayFrom(kind, kind === "time" ? time : sequence);
  return (
    <>
      <Form
        label="Replay events"
        error={null}
        fields={[]}
        onSubmit={() => setChosen(from)}
        actions={<FormActions verb="Go on" onCancel={onClose} disabled={from === null} />}
      >
        <p>
          Events that the endpoint takes are sent again from there on, 10,000 at most: the same ids and bodies, freshly
          signed.
        </p>
        <SelectField label="From where" name="from" value={kind} onChange={setKind} choices={KINDS} />
        {kind === "sequence" ? (
          <TextField
            label="Sequence"
            name="after_sequence"
            inputMode="numeric"
            value={sequence}
            onChange={setSequence}
            hint={from === null ? "Expected a whole number." : "Of the last event that you have; 0 sends all of them."}
          />
        ) : (
          <TextField
            label="Time"
            name="since"
            type="datetime-local"
            value={time}
            onChange={setTime}
            hint="In the time of this browser."
          />
        )}
      </Form>
      <ReplayConfirm of={endpoint} from={chosen} onClose={() => setChosen(null)} onDone={onClose} />
    </>
  );
}

function ReplayConfirm({
  of: endpoint,
  from,
  onClose,
  onDone,
}: Props & { readonly of: WebhookEndpoint; readonly from: Replay | null; readonly onDone: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const replay = useMutation({
    mutationFn: async (chosen: Replay) => await sluice.webhookEndpoints.replay(endpoint.id, chosen, { idempotencyKey }),
    onSuccess: ({ from_sequence, to_sequence }) => {
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
      toast(
        to_sequence < from_sequence
          ? "There was nothing to send again."
          : `Events ${from_sequence} to ${to_sequence} are sent again.`,
      );
      onDone();
    },
  });
  return (
    <Confirm
      title="Send them again?"
      confirm="Replay"
      open={from !== null}
      busy={replay.isPending}
      error={replay.error}
      onConfirm={() => {
        if (from !== null) replay.mutate(from);
      }}
      onClose={() => {
        replay.reset();
        onClose();
      }}
    >
      <p>
        Everything {inWords(from)} goes to <span className="mono break">{endpoint.url}</span> again. A receiver with an
        inbox applies none of it twice; one without acts on each again.
      </p>
    </Confirm>
  );
}

function inWords(from: Replay | null): string {
  if (from === null) return "";
  return from.since === undefined
    ? `after sequence ${from.after_sequence}`
    : `from ${new Date(from.since).toLocaleString()} on`;
}
