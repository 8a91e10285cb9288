/** What has no outcome yet: deposits that gather confirmations, withdrawals on their way. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Deposit, Withdrawal, WithdrawalState } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { Amount, State, Time } from "../../design/text.tsx";
import { useSandbox } from "../../sandbox.ts";
import { Confirmations } from "../deposits.tsx";
import { usePendingDeposits } from "./pending.ts";

/** The rest is a click away. */
const SHOWN = 6;

const DEPOSIT_COLUMNS: readonly Column<Deposit>[] = [
  {
    name: "Amount",
    cell: (row) => (
      <Link to={`/deposits/${row.id}`}>
        <Amount amount={row.amount} asset={row.asset} />
      </Link>
    ),
  },
  { name: "Network", cell: ({ network }) => network },
  { name: "Confirmations", cell: (row) => <Confirmations of={row} /> },
];

export function RunningConfirmations() {
  const pending = usePendingDeposits();
  const sandbox = useSandbox();
  return (
    <Card title="Confirmations running" flush actions={<Link to="/deposits?status=pending">All pending</Link>}>
      <Answer query={pending} lines={3}>
        {({ rows, isCut }) =>
          rows.length === 0 ? (
            <Empty title="No deposit is waiting">
              {sandbox.data ? <Link to="/sandbox">Pay an address in the sandbox</Link> : null}
            </Empty>
          ) : (
            <>
              <Table
                label="Pending deposits"
                columns={DEPOSIT_COLUMNS}
                rows={rows.slice(0, SHOWN)}
                keyOf={({ id }) => id}
              />
              <More count={rows.length - SHOWN} isCut={isCut} />
            </>
          )
        }
      </Answer>
    </Card>
  );
}

const OPEN_STATES = [
  "manual_review",
  "pending_approval",
  "request_received",
  "funds_reserved",
  "broadcast_pending",
  "confirmation_tracking",
] as const satisfies readonly WithdrawalState[];

const WITHDRAWAL_COLUMNS: readonly Column<Withdrawal>[] = [
  {
    name: "Amount",
    cell: (row) => (
      <Link to={`/withdrawals/${row.id}`}>
        <Amount amount={row.amount} asset={row.asset} />
      </Link>
    ),
  },
  {
    name: "State",
    cell: ({ state, waiting_for: waitingFor }) => (
      <span className="stack stack-tight" style={{ gap: 2 }}>
        <span>
          <State of={state} />
        </span>
        {waitingFor === null ? null : <span className="small quiet">waits for {waitingFor.replaceAll("_", " ")}</span>}
      </span>
    ),
  },
  { name: "Changed", cell: ({ updated_at: at }) => <Time at={at} /> },
];

/** Those that wait for a person come first. */
export function WithdrawalsUnderWay() {
  const open = useQuery({
    queryKey: ["withdrawals", "open"],
    queryFn: async () => {
      const pages = await Promise.all(
        OPEN_STATES.map(async (state) => await sluice.withdrawals.list({ state, limit: 50 }).page()),
      );
      return { rows: pages.flatMap(({ data }) => data), isCut: pages.some(({ next_cursor: next }) => next !== null) };
    },
    refetchInterval: 10_000,
  });
  return (
    <Card title="Withdrawals under way" flush actions={<Link to="/withdrawals">All withdrawals</Link>}>
      <Answer query={open} lines={3}>
        {({ rows, isCut }) =>
          rows.length === 0 ? (
            <Empty title="No withdrawal is under way" />
          ) : (
            <>
              <Table
                label="Withdrawals under way"
                columns={WITHDRAWAL_COLUMNS}
                rows={rows.slice(0, SHOWN)}
                keyOf={({ id }) => id}
              />
              <More count={rows.length - SHOWN} isCut={isCut} />
            </>
          )
        }
      </Answer>
    </Card>
  );
}

function More({ count, isCut }: { readonly count: number; readonly isCut: boolean }) {
  if (count <= 0) return null;
  return (
    <p className="small quiet" style={{ padding: "8px 16px 12px" }}>
      {isCut ? `More than ${count} others` : count === 1 ? "1 other" : `${count} others`}
    </p>
  );
}
