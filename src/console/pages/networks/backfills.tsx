/**
 * Networks, and past heights read again on request. Which backfills are followed is in the page's address, so that a
 * reload goes on following them; the service lists none.
 */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import type { Backfill, Network } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, SelectField, TextField } from "../../design/form.tsx";
import { Card, Facts, Progress } from "../../design/layout.tsx";
import { State } from "../../design/text.tsx";
import { useHeads } from "../../networks.ts";
import { useMay } from "../../session.ts";
import { NetworkHealth } from "./health.tsx";

export function Backfills() {
  const [search, setSearch] = useSearchParams();
  const [asks, setAsks] = useState(false);
  const networks = useHeads();
  const may = useMay("addresses:write");
  const followed = search.getAll("backfill");
  const known = networks.data ?? [];
  return (
    <>
      <NetworkHealth
        actions={
          may ? (
            <Button small disabled={known.length === 0} onClick={() => setAsks(true)}>
              Read heights again
            </Button>
          ) : (
            <span className="small quiet">Reading heights again takes a key with addresses:write.</span>
          )
        }
      />
      {followed.map((id) => (
        <Followed key={id} id={id} />
      ))}
      {asks ? (
        <NewBackfill
          networks={known}
          onClose={() => setAsks(false)}
          onMade={({ id }) => {
            setAsks(false);
            setSearch(
              (now) => {
                const others = now.getAll("backfill").filter((other) => other !== id);
                const next = new URLSearchParams(now);
                next.delete("backfill");
                for (const one of [id, ...others]) next.append("backfill", one);
                return next;
              },
              { replace: true },
            );
          }}
        />
      ) : null}
    </>
  );
}

const WHOLE = /^\d{1,15}$/;

function NewBackfill({
  networks,
  onClose,
  onMade,
}: {
  readonly networks: readonly Network[];
  readonly onClose: () => void;
  readonly onMade: (backfill: Backfill) => void;
}) {
  const [network, setNetwork] = useState(networks[0]?.id ?? "");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [isOdd, setIsOdd] = useState(false);
  // Of the request as it is written now: sent twice, it is one backfill; changed, it is another.
  const [idempotencyKey, setKey] = useState(() => crypto.randomUUID());
  const queries = useQueryClient();
  const ask = useMutation({
    mutationKey: ["backfills"],
    mutationFn: async () =>
      await sluice.backfills.create(
        { network, from_height: Number(from.trim()), to_height: Number(to.trim()) },
        { idempotencyKey },
      ),
    onSuccess: onMade,
  });
  const change = (set: (value: string) => void) => (value: string) => {
    set(value);
    setKey(crypto.randomUUID());
    setIsOdd(false);
  };
  const read = networks.find(({ id }) => id === network)?.scanned_to ?? null;
  return (
    <Dialog title="Read heights again" open onClose={onClose}>
      <p className="quiet">
        Adds payments to your addresses that are missing and removes nothing. What is known stays as it is, and is
        counted.
      </p>
      <Form
        label="Read heights again"
        error={ask.error}
        fields={["network", "from_height", "to_height"]}
        onSubmit={() => {
          // `isPending` is told a moment later, and a second click may come before.
          if (queries.isMutating({ mutationKey: ["backfills"] }) > 0) return;
          if (!WHOLE.test(from.trim()) || !WHOLE.test(to.trim())) setIsOdd(true);
          else ask.mutate();
        }}
        actions={
          <>
            <Button onClick={onClose}>Leave it</Button>
            <Button type="submit" look="main" busy={ask.isPending}>
              Read again
            </Button>
          </>
        }
      >
        <SelectField
          label="Network"
          name="network"
          error={ask.error}
          value={network}
          onChange={change(setNetwork)}
          choices={networks.map(({ id }) => ({ value: id, label: id }))}
        />
        <TextField
          label="From height"
          name="from_height"
          error={ask.error}
          inputMode="numeric"
          value={from}
          onChange={change(setFrom)}
          required
        />
        <TextField
          label="To height"
          name="to_height"
          error={ask.error}
          inputMode="numeric"
          value={to}
          onChange={change(setTo)}
          hint={read === null ? "Nothing was read there yet." : `Read so far: up to ${read}.`}
          required
        />
        {isOdd ? (
          <div role="alert">
            <Notice tone="bad" title="Heights are whole numbers, such as 120." />
          </div>
        ) : null}
      </Form>
    </Dialog>
  );
}

function Followed({ id }: { readonly id: string }) {
  const backfill = useQuery({
    queryKey: ["backfills", id],
    queryFn: async () => await sluice.backfills.get(id),
    refetchInterval: ({ state }) => (isOver(state.data) ? false : 1_000),
  });
  return (
    <Card title={`Backfill ${id}`}>
      <Answer query={backfill} lines={3}>
        {(row) => (
          <div className="stack">
            <div className="row">
              <State of={row.status} />
              <span>
                {row.network}, heights {row.from_height} to {row.to_height}
              </span>
            </div>
            <Read of={row} />
            <Facts
              of={[
                ["Found", String(row.found)],
                ["Known before", String(row.already_known)],
                ["Added", String(row.added)],
                row.conflicts === 0 ? null : ["Another tenant's", String(row.conflicts)],
              ]}
            />
            {row.error === null ? null : <Notice tone="bad" title={row.error} />}
          </div>
        )}
      </Answer>
    </Card>
  );
}

function Read({ of: { from_height: from, to_height: to, progress } }: { readonly of: Backfill }) {
  const done = progress.scanned_to === null ? 0 : Math.max(0, progress.scanned_to - from + 1);
  const all = to - from + 1;
  return <Progress value={done} of={all} label={`${Math.min(done, all)} of ${all} heights read`} />;
}

function isOver(backfill: Backfill | undefined): boolean {
  return backfill?.status === "done" || backfill?.status === "failed";
}
