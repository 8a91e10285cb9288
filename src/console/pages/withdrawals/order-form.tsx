/** What is to be paid out, and what the service says of it before it is asked for: the estimate holds for the fields as they are. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FeeKind, NewWithdrawal, WithdrawalEstimate } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Empty, ErrorNotice, Loading, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Form, SelectField, TextField } from "../../design/form.tsx";
import { Facts } from "../../design/layout.tsx";
import { Amount, Badge } from "../../design/text.tsx";
import { useNetworks } from "../../networks.ts";
import css from "./order.module.css";
import { saidOf } from "./order.ts";
import { foretold, placed } from "./refused.ts";

const FIELDS = ["network", "asset", "destination", "amount", "account", "external_id"];
/** Of more accounts than these, none is looked for. */
const MOST_BALANCES = 500;

interface Values {
  readonly network: string;
  readonly asset: string;
  readonly destination: string;
  readonly amount: string;
  readonly account: string;
  readonly externalId: string;
}

const NOTHING: Values = { network: "", asset: "", destination: "", amount: "", account: "default", externalId: "" };

function bodyOf({ network, asset, destination, amount, account, externalId }: Values): NewWithdrawal {
  return {
    network,
    asset,
    destination: destination.trim(),
    amount: amount.trim(),
    account: account.trim(),
    external_id: externalId.trim() === "" ? null : externalId.trim(),
  };
}

function valuesOf(body: NewWithdrawal): Values {
  const { network, asset, destination, amount, account, external_id: externalId } = body;
  return { network, asset, destination, amount, account: account ?? "default", externalId: externalId ?? "" };
}

export function OrderForm({
  initial,
  onSend,
  onEdit,
  onClose,
  busy,
  error,
}: {
  readonly initial: NewWithdrawal | null;
  readonly onSend: (body: NewWithdrawal) => void;
  /** What was refused is being changed. */
  readonly onEdit: () => void;
  readonly onClose: () => void;
  readonly busy: boolean;
  readonly error: unknown;
}) {
  const networks = useNetworks();
  const [given, setGiven] = useState(() => (initial === null ? NOTHING : valuesOf(initial)));
  const estimate = useMutation({
    mutationFn: async (body: NewWithdrawal) => await sluice.withdrawals.estimate(body),
  });
  const chosen = networks.data?.find(({ id }) => id === given.network) ?? networks.data?.[0];
  const assets = chosen?.assets ?? [];
  const values: Values = {
    ...given,
    network: chosen?.id ?? "",
    asset: assets.some(({ symbol }) => symbol === given.asset) ? given.asset : (assets[0]?.symbol ?? ""),
  };
  const available = useAvailable(values);
  if (networks.data === undefined)
    return networks.isError ? (
      <ErrorNotice error={networks.error} again={() => void networks.refetch()} />
    ) : (
      <Loading />
    );
  if (chosen === undefined) return <Empty title="No network is on" />;

  const set = (change: Partial<Values>) => {
    // A request that is on its way is what the fields say.
    if (busy) return;
    estimate.reset();
    onEdit();
    setGiven({ ...values, ...change });
  };
  const body = bodyOf(values);
  // What was refused since says more than the estimate before it.
  const said = error === null ? saidOf(body, estimate.variables, estimate.data) : null;
  const shown = placed(error ?? estimate.error) ?? foretold(said?.refusal ?? null);
  const isWhole = body.destination !== "" && body.amount !== "" && body.account !== "" && body.asset !== "";
  return (
    <Form
      label="New withdrawal"
      // What an estimate foretells is told by the estimate as well.
      error={error === null && estimate.error === null ? null : shown}
      fields={FIELDS}
      onSubmit={() => {
        if (!isWhole || busy || estimate.isPending) return;
        onEdit();
        estimate.mutate(body);
      }}
      actions={
        <>
          <Button onClick={onClose} disabled={busy}>
            Close
          </Button>
          <Button type="submit" busy={estimate.isPending} disabled={!isWhole || busy}>
            Estimate
          </Button>
          <Button look="main" busy={busy} disabled={said?.accepted !== true} onClick={() => onSend(body)}>
            Withdraw
          </Button>
        </>
      }
    >
      <div className={css.pair}>
        <SelectField
          label="Network"
          name="network"
          error={shown}
          value={values.network}
          choices={networks.data.map(({ id }) => ({ value: id, label: id }))}
          onChange={(network) => set({ network })}
        />
        <SelectField
          label="Asset"
          name="asset"
          error={shown}
          value={values.asset}
          choices={assets.map(({ symbol }) => ({ value: symbol, label: symbol }))}
          onChange={(asset) => set({ asset })}
        />
      </div>
      <TextField
        label="Destination"
        name="destination"
        error={shown}
        mono
        required
        hint="Who is paid. A payment cannot be called back."
        value={values.destination}
        onChange={(destination) => set({ destination })}
      />
      <TextField
        label="Amount"
        name="amount"
        error={shown}
        required
        inputMode="decimal"
        hint={
          available === null
            ? "All of it arrives. The hot wallet pays the fee."
            : `${available} ${values.asset} is available.`
        }
        value={values.amount}
        onChange={(amount) => set({ amount })}
      />
      <div className={css.pair}>
        <TextField
          label="Account"
          name="account"
          error={shown}
          required
          hint="Whose balance pays it."
          value={values.account}
          onChange={(account) => set({ account })}
        />
        <TextField
          label="Your id (optional)"
          name="external_id"
          error={shown}
          hint="Your own name of this payout; it can be found by it."
          value={values.externalId}
          onChange={(externalId) => set({ externalId })}
        />
      </div>
      {said === null ? null : <WhatItTakes of={said} />}
    </Form>
  );
}

function WhatItTakes({ of: said }: { readonly of: WithdrawalEstimate }) {
  const fee = (amount: string | null) =>
    amount === null ? "not known: the network is out of reach" : <Amount amount={amount} asset={said.fee_asset} />;
  return (
    <section className="stack stack-tight" aria-label="Estimate" aria-live="polite">
      <div className="row row-apart">
        <h3>Estimate</h3>
        <Badge tone={said.accepted ? "good" : "bad"}>{said.accepted ? "would be accepted" : "would be refused"}</Badge>
      </div>
      {said.refusal === null || foretold(said.refusal) !== null ? null : (
        <Notice tone="bad" title={said.refusal.detail} />
      )}
      <Facts
        of={[
          ["Arrives", <Amount key="amount" amount={said.amount} asset={said.asset} />],
          ["Fee now", <span key="fee">{fee(said.fee)}</span>],
          ...said.fee_parts.map(
            ({ kind, quantity, fee: part }) => [partName(kind, quantity), <span key={kind}>{fee(part)}</span>] as const,
          ),
          ["Fee at most", <span key="most">{fee(said.max_fee)}</span>],
          ["Approval", said.needs_approval ? "needed: another key must approve it" : "not needed"],
        ]}
      />
      {said.warning === null ? null : (
        <Notice tone="warn" title="It would not be paid at once">
          <span>{said.warning}</span>
        </Notice>
      )}
      <span className="small quiet">Funds and fees may change. Only what is accepted is reserved.</span>
    </section>
  );
}

/** What the account has of the asset, as the service wrote it; null: not known. */
function useAvailable({ network, asset, account }: Values): string | null {
  const balances = useQuery({
    queryKey: ["balances", "of asset", network, asset],
    queryFn: () => sluice.balances.list({ network, asset, limit: 200 }).toArray(MOST_BALANCES),
    enabled: asset !== "",
  });
  if (balances.data === undefined) return null;
  const own = balances.data.find((balance) => balance.account === account.trim());
  if (own === undefined) return balances.data.length < MOST_BALANCES ? "0" : null;
  return own.available;
}

const PARTS: Record<FeeKind, string> = {
  bandwidth: "of it bandwidth",
  energy: "of it energy",
  account: "of it the receiver's new account",
  signature: "of it the signature",
  priority: "of it priority",
  token_account: "of it the receiver's token account",
};

function partName(kind: FeeKind, quantity: number | null): string {
  return quantity === null ? PARTS[kind] : `${PARTS[kind]} (${quantity})`;
}
