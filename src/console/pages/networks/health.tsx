/** How each network is: how far it was read, and how far that is behind. */

import type { ReactNode } from "react";
import type { Network } from "../../../sdk/types.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { State } from "../../design/text.tsx";
import { useHeads } from "../../networks.ts";

const COLUMNS: readonly Column<Network>[] = [
  {
    name: "Network",
    cell: ({ id, caip2 }) => (
      <span className="stack stack-tight" style={{ gap: 0 }}>
        <strong>{id}</strong>
        <span className="small quiet mono">{caip2}</span>
      </span>
    ),
  },
  { name: "Status", cell: ({ status }) => <State of={status} /> },
  { name: "Head", number: true, cell: ({ head }) => <Height of={head} /> },
  { name: "Read up to", number: true, cell: ({ scanned_to: height }) => <Height of={height} /> },
  { name: "Behind", number: true, cell: (row) => <Behind of={row} /> },
  { name: "Final", number: true, cell: ({ finalized }) => <Height of={finalized} /> },
  {
    name: "Counts at",
    cell: ({ confirmations }) =>
      confirmations === null ? "finality" : confirmations === 1 ? "1 block" : `${confirmations} blocks`,
  },
];

function Height({ of: height }: { readonly of: number | null }) {
  return height === null ? <span className="quiet">unknown</span> : <span className="number">{height}</span>;
}

function Behind({ of: { head, scanned_to: read } }: { readonly of: Network }) {
  if (head === null || read === null) return <span className="quiet">unknown</span>;
  const blocks = Math.max(0, head - read);
  return <span className="number">{blocks === 1 ? "1 block" : `${blocks} blocks`}</span>;
}

export function NetworkHealth({ actions }: { readonly actions?: ReactNode }) {
  const networks = useHeads();
  return (
    <Card title="Networks" flush actions={actions}>
      <Answer query={networks} lines={2}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No network is on">
              <span>Whoever runs the service turns one on with the URL of a node.</span>
            </Empty>
          ) : (
            <Table label="Networks" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
          )
        }
      </Answer>
    </Card>
  );
}
