/** What all accounts hold together, by asset. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { type AssetTotal, totalsOf } from "../../amounts.ts";
import { bounded } from "../../bounded.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";

const MOST_BALANCES = 2_000;

const COLUMNS: readonly Column<AssetTotal>[] = [
  {
    name: "Asset",
    cell: ({ network, asset, accounts }) => (
      <span className="stack stack-tight" style={{ gap: 0 }}>
        <Link to={`/ledger?${new URLSearchParams({ network, asset })}`}>
          {asset} on {network}
        </Link>
        <span className="small quiet">{accounts === 1 ? "1 account" : `${accounts} accounts`}</span>
      </span>
    ),
  },
  { name: "Available", number: true, cell: ({ available }) => <Sum of={available} /> },
  { name: "Reserved", number: true, cell: ({ reserved }) => <Sum of={reserved} /> },
  { name: "Paid out", number: true, cell: ({ settled }) => <Sum of={settled} /> },
  { name: "Debt", number: true, cell: ({ debt }) => <Sum of={debt} /> },
  { name: "Network fees", number: true, cell: ({ fees }) => <Sum of={fees} /> },
];

function Sum({ of: amount }: { readonly of: string }) {
  return <span className={amount === "0" ? "number quiet" : "number break"}>{amount}</span>;
}

export function AssetTotals() {
  const totals = useQuery({
    queryKey: ["balances", "totals"],
    queryFn: async () => {
      const { rows, isCut } = await bounded(sluice.balances.list({ limit: 200 }), MOST_BALANCES);
      return { totals: totalsOf(rows), isCut };
    },
    refetchInterval: 15_000,
  });
  return (
    <Card title="Balances" flush actions={<Link to="/ledger">Ledger</Link>}>
      <Answer query={totals} lines={3}>
        {({ totals: rows, isCut }) =>
          rows.length === 0 ? (
            <Empty title="Nothing is booked yet">
              <span>A deposit is credited to its account once it is confirmed.</span>
            </Empty>
          ) : (
            <>
              <Table
                label="Balances of all accounts, by asset"
                columns={COLUMNS}
                rows={rows}
                keyOf={({ network, asset }) => JSON.stringify([network, asset])}
              />
              {isCut ? (
                <p className="small quiet" style={{ padding: "8px 16px 12px" }}>
                  These are the sums of the first {MOST_BALANCES} balances. There are more: the ledger's statement has
                  all of them.
                </p>
              ) : null}
            </>
          )
        }
      </Answer>
    </Card>
  );
}
