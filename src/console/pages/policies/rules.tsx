/** What may be paid out: what holds now, and what waits for its cool-down. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Policies, WithdrawalRules } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Card, Facts } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { Amount, Copy, ExactTime, span, Time } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { Changes } from "./changes.tsx";
import { withdrawalDifferences } from "./differences.ts";
import { RulesForm } from "./rules-form.tsx";

type Held = Policies["withdrawals"];

export function WithdrawalRulesCard({ held, mayChange }: { readonly held: Held; readonly mayChange: boolean }) {
  const [editing, setEditing] = useState(false);
  if (editing) {
    return (
      <Card title="Change what may be paid out">
        <RulesForm held={held} onClose={() => setEditing(false)} />
      </Card>
    );
  }
  const { current, pending } = held;
  return (
    <Card
      title="What may be paid out"
      actions={
        mayChange ? (
          <Button small onClick={() => setEditing(true)}>
            Change these rules
          </Button>
        ) : undefined
      }
    >
      <div className="stack">
        {pending === null ? null : <Pending current={current} pending={pending} mayChange={mayChange} />}
        <Facts
          of={[
            ["Cool-down", coolDownInWords(current.cool_down_seconds)],
            ["Destinations", destinationsInWords(current)],
          ]}
        />
        {current.allow_list === null || current.allow_list.length === 0 ? null : (
          <Table
            label="Allowed destinations"
            columns={DESTINATIONS}
            rows={current.allow_list}
            keyOf={({ network, address }) => `${network} ${address}`}
          />
        )}
        <h3>Limits</h3>
        {current.limits.length === 0 ? (
          <p className="quiet">None: any amount that an account has may be paid out.</p>
        ) : (
          <Table
            label="Limits"
            columns={LIMITS}
            rows={current.limits}
            keyOf={({ network, asset }) => `${network} ${asset}`}
          />
        )}
        <h3>Approvals</h3>
        {current.approvals.length === 0 ? (
          <p className="quiet">None: no withdrawal waits for a second key.</p>
        ) : (
          <Table
            label="Approvals"
            columns={APPROVALS}
            rows={current.approvals}
            keyOf={({ network, asset }) => `${network} ${asset}`}
          />
        )}
      </div>
    </Card>
  );
}

function coolDownInWords(seconds: number): string {
  return seconds === 0
    ? "none: what is looser holds at once"
    : `${span(seconds * 1_000)}: what is looser waits for so long`;
}

function destinationsInWords({ allow_list: list }: WithdrawalRules): string {
  if (list === null) return "any";
  return list.length === 0 ? "none: nothing can be paid out" : "only those listed";
}

const DESTINATIONS: readonly Column<{ network: string; address: string }>[] = [
  { name: "Network", cell: ({ network }) => network },
  {
    name: "Address",
    cell: ({ address }) => (
      <span className="row" style={{ gap: 4 }}>
        <span className="mono break">{address}</span>
        <Copy text={address} label="address" />
      </span>
    ),
  },
];

const LIMITS: readonly Column<WithdrawalRules["limits"][number]>[] = [
  { name: "Network", cell: ({ network }) => network },
  { name: "Asset", cell: ({ asset }) => asset },
  { name: "One withdrawal", number: true, cell: (row) => <Ceiling amount={row.per_withdrawal} asset={row.asset} /> },
  { name: "24 hours", number: true, cell: (row) => <Ceiling amount={row.per_day} asset={row.asset} /> },
];

const APPROVALS: readonly Column<WithdrawalRules["approvals"][number]>[] = [
  { name: "Network", cell: ({ network }) => network },
  { name: "Asset", cell: ({ asset }) => asset },
  { name: "Another key above", number: true, cell: ({ above, asset }) => <Amount amount={above} asset={asset} /> },
];

function Ceiling({ amount, asset }: { readonly amount: string | null; readonly asset: string }) {
  return amount === null ? <span className="quiet">no limit</span> : <Amount amount={amount} asset={asset} />;
}

/** What was asked for last and is looser. Asking for what holds now takes its place, and nothing waits any more. */
function Pending({
  current,
  pending: { rules, effective_at: at },
  mayChange,
}: {
  readonly current: WithdrawalRules;
  readonly pending: NonNullable<Held["pending"]>;
  readonly mayChange: boolean;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const [asking, setAsking] = useState(false);
  const callOff = useMutation({
    mutationFn: async () => await sluice.policies.setWithdrawals(current),
    onSuccess: (held) => {
      queries.setQueryData(["policies"], held);
      toast("Called off. What holds now goes on.");
      setAsking(false);
    },
  });
  return (
    <Notice tone="warn" title="A change waits for its cool-down">
      <span>
        It holds <Time at={at} />, from <ExactTime at={at} /> on. Should nobody of yours have asked for it, call it off
        and revoke the key that did.
      </span>
      <Changes label="What will change" of={withdrawalDifferences(current, rules)} timing={false} />
      {mayChange ? (
        <div>
          <Button
            small
            onClick={() => {
              callOff.reset();
              setAsking(true);
            }}
          >
            Call the change off
          </Button>
        </div>
      ) : null}
      <Confirm
        title="Call the change off"
        confirm="Call it off"
        open={asking}
        busy={callOff.isPending}
        error={callOff.error}
        onClose={() => setAsking(false)}
        onConfirm={() => callOff.mutate()}
      >
        <p>The rules that hold now go on, and nothing waits any more.</p>
      </Confirm>
    </Notice>
  );
}
