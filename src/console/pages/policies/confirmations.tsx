/** When payments count, network by network: the network's own rule, and the tenant's in its place. */

import { useState } from "react";
import type { Network, Policies } from "../../../sdk/types.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { useNetworks } from "../../networks.ts";
import { ConfirmationsForm } from "./confirmations-form.tsx";
import { ruleInWords } from "./differences.ts";

type Rules = Policies["confirmations"];

interface Row {
  readonly network: Network;
  readonly rules: Rules[string] | undefined;
}

export function ConfirmationsCard({ rules, mayChange }: { readonly rules: Rules; readonly mayChange: boolean }) {
  const networks = useNetworks();
  const [editing, setEditing] = useState<string | null>(null);
  const edited = networks.data?.find(({ id }) => id === editing);
  return (
    <Card title="When payments count" flush>
      <p className="quiet" style={{ padding: "0 16px 8px" }}>
        The most specific rule decides: of the amount, then of the asset, then yours for the network, then the network's
        own. Payments that were seen already keep the rule they were seen under.
      </p>
      <Answer query={networks}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No network is on" />
          ) : (
            <Table
              label="Confirmations"
              columns={columnsFor(mayChange ? setEditing : null)}
              rows={all.map((network) => ({ network, rules: rules[network.id] }))}
              keyOf={({ network }) => network.id}
            />
          )
        }
      </Answer>
      <Dialog
        title={`When payments count on ${editing ?? ""}`}
        open={edited !== undefined}
        onClose={() => setEditing(null)}
      >
        {edited === undefined ? null : (
          <ConfirmationsForm network={edited} rules={rules[edited.id]} onClose={() => setEditing(null)} />
        )}
      </Dialog>
    </Card>
  );
}

function columnsFor(onEdit: ((network: string) => void) | null): readonly Column<Row>[] {
  const columns: Column<Row>[] = [
    { name: "Network", cell: ({ network }) => network.id },
    { name: "Its own rule", cell: ({ network }) => ownRule(network) },
    { name: "Yours", cell: ({ rules }) => ruleInWords(rules?.default ?? null) ?? <span className="quiet">none</span> },
    { name: "By asset and amount", cell: ({ rules }) => <ByAsset assets={rules?.assets ?? {}} /> },
  ];
  if (onEdit === null) return columns;
  const change: Column<Row> = {
    name: "Change",
    cell: ({ network: { id } }) => (
      <Button small aria-label={`Change the rules of ${id}`} onClick={() => onEdit(id)}>
        Change
      </Button>
    ),
  };
  return [...columns, change];
}

export function ownRule({ finality, confirmations }: Network): string {
  return ruleInWords(finality === "tag" || confirmations === null ? "finalized" : confirmations) ?? "";
}

function ByAsset({ assets }: { readonly assets: Rules[string]["assets"] }) {
  const lines = Object.entries(assets).flatMap(([symbol, { default: own, amounts }]) => [
    ...(own === null ? [] : [`${symbol}: ${ruleInWords(own)}`]),
    ...amounts.map(({ from, confirmations }) => `${symbol} from ${from}: ${ruleInWords(confirmations)}`),
  ]);
  if (lines.length === 0) return <span className="quiet">none</span>;
  return (
    <span className="stack stack-tight" style={{ gap: 0 }}>
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </span>
  );
}
