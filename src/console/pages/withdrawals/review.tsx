/**
 * The decision about a withdrawal that waits for a person: what shows its state on one side, what is decided and by what
 * evidence on the other. Neither decision can be taken back, so it is asked about once more before it is sent.
 */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { SluiceError } from "../../../sdk/errors.ts";
import type { Resolution, Withdrawal, WithdrawalAttempt } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Form } from "../../design/form.tsx";
import { Card } from "../../design/layout.tsx";
import { ExactTime, State } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { useNetworks } from "../../networks.ts";
import { useMay } from "../../session.ts";
import { What } from "./actions.tsx";
import { Transaction } from "./attempts.tsx";
import css from "./review.module.css";
import { fateOf, reasonInWords } from "./words.ts";

type Outcome = Resolution["outcome"];

const MOST_EVIDENCE = 1_000;

/** What calling it unpaid does first, by what excludes a second payment on its network. */
const UNPAID: Record<string, string> = {
  evm: "If its nonce is used up for good, the amount is available again at once. Otherwise the nonce is burnt first: a transfer of nothing, with the same nonce and a higher fee. The amount is available again when that is final.",
  bitcoin:
    "If its coin is spent for good, the amount is available again at once. Otherwise the coin is spent first by a transaction that does not pay this withdrawal. The amount is available again when that is final.",
  expiring:
    "Nothing more is signed for it. The amount is available again when everything that was signed has expired, at once if it has already.",
};

export function Review({ of: row }: { readonly of: Withdrawal }) {
  const may = useMay("withdrawals:approve");
  const [evidence, setEvidence] = useState("");
  return (
    <Card title="It waits for your decision">
      <div className={css.sides}>
        <Shown
          row={row}
          onTake={may ? (txId) => setEvidence((now) => (now === "" ? txId : `${now}\n${txId}`)) : null}
        />
        {may ? (
          <Decision row={row} evidence={evidence} onEvidence={setEvidence} />
        ) : (
          <Notice tone="info" title="This session's key may not decide">
            <span>It takes a key with withdrawals:approve.</span>
          </Notice>
        )}
      </div>
    </Card>
  );
}

function Shown({ row, onTake }: { readonly row: Withdrawal; readonly onTake: ((txId: string) => void) | null }) {
  const told = row.transitions.filter(({ to, evidence }) => evidence !== null || to === "manual_review");
  return (
    <div className="stack">
      <h3>What shows its state</h3>
      <ul className={css.list} aria-label="What shows its state">
        {told.map(({ at, to, reason, evidence }) => (
          <li key={`${at} ${to}`}>
            <span className="row row-apart">
              <span>{reasonInWords(reason)}</span>
              <span className="small quiet">
                <ExactTime at={at} />
              </span>
            </span>
            {evidence === null ? null : <span className="mono break">{evidence}</span>}
          </li>
        ))}
      </ul>
      <h3>What was signed for it</h3>
      {row.attempts.length === 0 ? (
        <p className="quiet">Nothing, as far as the service knows.</p>
      ) : (
        <ul className={css.list} aria-label="What was signed">
          {row.attempts.map((attempt) => (
            <SignedOne key={attempt.tx_id} attempt={attempt} network={row.network} onTake={onTake} />
          ))}
        </ul>
      )}
    </div>
  );
}

function SignedOne({
  attempt,
  network,
  onTake,
}: {
  readonly attempt: WithdrawalAttempt;
  readonly network: string;
  readonly onTake: ((txId: string) => void) | null;
}) {
  const { tx_id: txId, kind, status, nonce, outcome } = attempt;
  return (
    <li>
      <span className="row row-apart">
        <Transaction network={network} txId={txId} />
        <State of={status} />
      </span>
      <span>{fateOf(attempt)}.</span>
      <span className="small quiet">
        {[
          kind,
          nonce === null ? null : `nonce ${nonce}`,
          outcome === null ? "no answer to a send yet" : `last answer: ${outcome.replaceAll("_", " ")}`,
        ]
          .filter((part) => part !== null)
          .join(", ")}
      </span>
      {onTake !== null && kind === "payment" ? (
        <span>
          <Button small onClick={() => onTake(txId)}>
            Name it as evidence
          </Button>
        </span>
      ) : null}
    </li>
  );
}

function Decision({
  row,
  evidence,
  onEvidence,
}: {
  readonly row: Withdrawal;
  readonly evidence: string;
  readonly onEvidence: (text: string) => void;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const family = useNetworks().data?.find(({ id }) => id === row.network)?.family;
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [asking, setAsking] = useState<string | null>(null);
  const resolve = useMutation({
    mutationFn: async ({ key, ...decision }: Resolution & { key: string }) =>
      await sluice.withdrawals.resolve(row.id, decision, { idempotencyKey: key }),
    onSuccess: (after) => {
      toast(after.state === "manual_review" ? "Written down." : `Decided: ${after.state.replaceAll("_", " ")}.`);
      setAsking(null);
      queries.setQueryData(["withdrawals", "one", row.id], after);
      void queries.invalidateQueries({ queryKey: ["withdrawals"] });
      void queries.invalidateQueries({ queryKey: ["balances"] });
    },
    onError: (error) => {
      // What names a field is shown there.
      if (error instanceof SluiceError && error.errors.length > 0) setAsking(null);
      void queries.invalidateQueries({ queryKey: ["withdrawals", "one", row.id] });
    },
  });
  const isWhole = outcome !== null && evidence.trim() !== "" && evidence.length <= MOST_EVIDENCE;
  const unpaid = UNPAID[family === "tron" || family === "solana" ? "expiring" : (family ?? "evm")] ?? UNPAID.evm;
  return (
    <Form
      label="Decision"
      error={asking === null ? resolve.error : null}
      fields={["evidence", "outcome"]}
      onSubmit={() => {
        if (!isWhole) return;
        resolve.reset();
        setAsking(crypto.randomUUID());
      }}
      actions={
        <Button look="main" type="submit" disabled={!isWhole}>
          Decide
        </Button>
      }
    >
      <fieldset className={css.choices}>
        <legend className="field-label">What became of it</legend>
        <Choice value="confirmed" chosen={outcome} onChoose={setOutcome} title="confirmed: it was paid">
          Its amount is settled and gone from the account, and the chain is not followed any more. As long as one of its
          transactions may still be mined, the evidence must name one of them: paid by hand, it could be paid once more.
        </Choice>
        <Choice value="failed" chosen={outcome} onChoose={setOutcome} title="failed: it was not paid">
          {unpaid} If the payment is mined instead, it was paid, and the withdrawal says confirmed.
        </Choice>
      </fieldset>
      <EvidenceField value={evidence} onChange={onEvidence} error={asking === null ? resolve.error : null} />
      <Confirm
        title={outcome === "confirmed" ? "Decide that it was paid" : "Decide that it was not paid"}
        confirm={outcome === "confirmed" ? "It was paid" : "It was not paid"}
        danger
        open={asking !== null}
        busy={resolve.isPending}
        error={resolve.error}
        onClose={() => setAsking(null)}
        onConfirm={() => {
          if (asking !== null && outcome !== null) resolve.mutate({ outcome, evidence, key: asking });
        }}
      >
        <div className="stack">
          <What row={row} />
          <p>
            {outcome === "confirmed"
              ? "The amount is settled: the account does not get it back, and this withdrawal is not followed any more."
              : `${unpaid} Then the account can pay it out again.`}
          </p>
          <p>This cannot be taken back. Your evidence stands in its transitions:</p>
          <span className="code">{evidence}</span>
        </div>
      </Confirm>
    </Form>
  );
}

function Choice({
  value,
  chosen,
  onChoose,
  title,
  children,
}: {
  readonly value: Outcome;
  readonly chosen: Outcome | null;
  readonly onChoose: (value: Outcome) => void;
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <div className={css.choice}>
      <input
        type="radio"
        id={`outcome-${value}`}
        name="outcome"
        value={value}
        checked={chosen === value}
        onChange={() => onChoose(value)}
        aria-describedby={`outcome-${value}-does`}
      />
      <label htmlFor={`outcome-${value}`}>
        <strong>{title}</strong>
      </label>
      <p id={`outcome-${value}-does`} className="small">
        {children}
      </p>
    </div>
  );
}

function EvidenceField({
  value,
  onChange,
  error,
}: {
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly error: unknown;
}) {
  const refused = error instanceof SluiceError ? error.errors.find(({ path }) => path === "evidence") : undefined;
  return (
    <div className="field">
      <label className="field-label" htmlFor="evidence">
        Evidence
      </label>
      <textarea
        id="evidence"
        className="input mono"
        rows={4}
        required
        maxLength={MOST_EVIDENCE}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-describedby="evidence-hint"
        aria-invalid={refused !== undefined}
      />
      <span id="evidence-hint" className="field-hint">
        A transaction id, or what was looked at and found. Required.
      </span>
      {refused === undefined ? null : (
        <span className="field-error" role="alert">
          {refused.message}
        </span>
      )}
    </div>
  );
}
