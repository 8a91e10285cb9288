/**
 * What a person may do with a withdrawal in the state that it is in: the steps that this state does not have are not
 * offered, nor is what the session's key may not do. The service decides anyway, in the turn in which it is asked.
 */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { PermissionError } from "../../../sdk/errors.ts";
import type { Network, Scope, Withdrawal } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { TextField } from "../../design/form.tsx";
import { Amount } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { useNetworks } from "../../networks.ts";
import { useMay } from "../../session.ts";

type Act = (id: string, options: { readonly idempotencyKey: string }) => Promise<Withdrawal>;

interface Action {
  readonly name: string;
  readonly scope: Scope;
  readonly look?: "main" | "danger";
  readonly title: string;
  readonly says: ReactNode;
  readonly done: string;
  readonly act: Act;
}

export function WithdrawalActions({ of: row }: { readonly of: Withdrawal }) {
  const networks = useNetworks();
  const has: Record<string, boolean> = {
    "withdrawals:write": useMay("withdrawals:write"),
    "withdrawals:approve": useMay("withdrawals:approve"),
  };
  const waitsForApproval = row.state === "pending_approval";
  const actions = [
    ...(waitsForApproval ? [APPROVE] : []),
    ...(canBeHurried(row, networks.data?.find(({ id }) => id === row.network)?.family) ? [SPEED_UP] : []),
    ...(waitsForApproval || row.state === "funds_reserved" ? [CANCEL] : []),
  ];
  const missing = new Set(actions.filter(({ scope }) => has[scope] !== true).map(({ scope }) => scope));
  return (
    <>
      {actions
        .filter(({ scope }) => has[scope] === true)
        .map((action) => (
          <ActionButton key={action.name} action={action} row={row} />
        ))}
      {waitsForApproval && has["withdrawals:approve"] === true ? <RejectButton row={row} /> : null}
      {missing.size === 0 ? null : (
        <span className="small quiet">This session's key has no {[...missing].join(" and no ")}.</span>
      )}
    </>
  );
}

const APPROVE: Action = {
  name: "Approve",
  scope: "withdrawals:approve",
  look: "main",
  title: "Approve this withdrawal",
  says: (
    <p>
      It is paid as soon as its turn comes, and cannot be called back once it is signed. The key that asked for it
      cannot approve it, nor can one that it was rotated from or to.
    </p>
  ),
  done: "Approved. It goes on.",
  act: async (id, options) => await sluice.withdrawals.approve(id, options),
};

const CANCEL: Action = {
  name: "Cancel",
  scope: "withdrawals:write",
  title: "Call this withdrawal off",
  says: <p>Nothing is signed yet. Its amount is available again at once, and this withdrawal is never paid.</p>,
  done: "Called off. The amount is available again.",
  act: async (id, options) => await sluice.withdrawals.cancel(id, options),
};

const SPEED_UP: Action = {
  name: "Speed up",
  scope: "withdrawals:write",
  title: "Offer a higher fee",
  says: (
    <p>
      One more attempt is signed, the same with a higher fee, and one of the attempts is mined, never two. Signing
      follows shortly after. On Bitcoin it hurries all withdrawals that share the transaction.
    </p>
  ),
  done: "Asked for. Signing follows shortly.",
  act: async (id, options) => await sluice.withdrawals.speedUp(id, options),
};

/** Something of it is signed and may still be mined. Where transactions expire, nothing can take the place of one that lives. */
function canBeHurried({ state, attempts }: Withdrawal, family: Network["family"] | undefined): boolean {
  const isOpen = state === "broadcast_pending" || state === "confirmation_tracking" || state === "manual_review";
  if (!isOpen || attempts.length === 0 || attempts.some(({ status }) => status === "mined")) return false;
  const isAllDead = attempts.every(({ status }) => status === "void");
  return family === "tron" || family === "solana" ? isAllDead : !isAllDead;
}

function useDecision(row: Withdrawal, done: string, onDone: () => void) {
  const queries = useQueryClient();
  const toast = useToast();
  return {
    onSuccess: (after: Withdrawal) => {
      toast(done);
      queries.setQueryData(["withdrawals", "one", row.id], after);
      void queries.invalidateQueries({ queryKey: ["withdrawals"] });
      void queries.invalidateQueries({ queryKey: ["balances"] });
      onDone();
    },
    // The state may have moved on: what is shown is looked at again.
    onError: () => void queries.invalidateQueries({ queryKey: ["withdrawals", "one", row.id] }),
  };
}

function ActionButton({ action, row }: { readonly action: Action; readonly row: Withdrawal }) {
  // One key for as long as the question stands: a repeat after a lost answer is the same decision.
  const [asking, setAsking] = useState<string | null>(null);
  const decide = useMutation({
    mutationFn: async (idempotencyKey: string) => await action.act(row.id, { idempotencyKey }),
    ...useDecision(row, action.done, () => setAsking(null)),
  });
  return (
    <>
      <Button
        look={action.look}
        onClick={() => {
          decide.reset();
          setAsking(crypto.randomUUID());
        }}
      >
        {action.name}
      </Button>
      <Confirm
        title={action.title}
        confirm={action.name}
        open={asking !== null}
        busy={decide.isPending}
        error={decide.error}
        onClose={() => setAsking(null)}
        onConfirm={() => asking !== null && decide.mutate(asking)}
      >
        <div className="stack">
          <What row={row} />
          {action.says}
          {decide.error instanceof PermissionError ? <OtherKey /> : null}
        </div>
      </Confirm>
    </>
  );
}

function RejectButton({ row }: { readonly row: Withdrawal }) {
  const [asking, setAsking] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  const decide = useMutation({
    mutationFn: async (idempotencyKey: string) => {
      const why = reason.trim() === "" ? null : reason.trim();
      return await sluice.withdrawals.reject(row.id, { reason: why }, { idempotencyKey });
    },
    ...useDecision(row, "Rejected. The amount is available again.", () => setAsking(null)),
  });
  return (
    <>
      <Button
        look="danger"
        onClick={() => {
          decide.reset();
          setReason("");
          setAsking(crypto.randomUUID());
        }}
      >
        Reject
      </Button>
      <Confirm
        title="Reject this withdrawal"
        confirm="Reject"
        danger
        open={asking !== null}
        busy={decide.isPending}
        error={decide.error}
        onClose={() => setAsking(null)}
        onConfirm={() => asking !== null && decide.mutate(asking)}
      >
        <div className="stack">
          <What row={row} />
          <p>It is refused for good, and its amount is available again.</p>
          <TextField
            label="Reason (optional)"
            name="reason"
            error={decide.error}
            value={reason}
            onChange={(next) => {
              // Another reason is another request.
              setReason(next);
              setAsking(crypto.randomUUID());
            }}
            hint="It stands in the transition's evidence."
          />
        </div>
      </Confirm>
    </>
  );
}

/** What is decided about. */
export function What({ row }: { readonly row: Withdrawal }) {
  return (
    <p>
      <strong>
        <Amount amount={row.amount} asset={row.asset} />
      </strong>{" "}
      on {row.network} to <span className="mono break">{row.destination}</span>
    </p>
  );
}

function OtherKey() {
  return (
    <Notice tone="info" title="It takes another key">
      <span>Sign in with a key that has withdrawals:approve and did not ask for this withdrawal.</span>
    </Notice>
  );
}
