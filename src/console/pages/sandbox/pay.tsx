/** Pays one of the tenant's addresses on the local chain, as a customer would. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import type { Address, Asset } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, ErrorNotice, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Form, SelectField, TextField } from "../../design/form.tsx";
import { Card } from "../../design/layout.tsx";
import { Short } from "../../design/text.tsx";
import { askSandbox } from "../../sandbox.ts";
import { useMay } from "../../session.ts";
import { randomEvmAddress } from "./random-address.ts";

const MOST = 200;

export function Pay({ network }: { readonly network: string }) {
  const addresses = useQuery<Address[]>({
    queryKey: ["addresses", "choices", network],
    queryFn: () => sluice.addresses.list({ network }).toArray(MOST),
  });
  const assets = useQuery<Asset[]>({
    queryKey: ["assets", network],
    queryFn: () => sluice.assets.list({ network }).toArray(MOST),
  });
  return (
    <Card title="Pay an address">
      <Answer query={addresses} lines={3}>
        {(known) =>
          known.length === 0 ? (
            <FirstAddress network={network} />
          ) : (
            <Answer query={assets} lines={3}>
              {(listed) => <PayForm addresses={known} assets={listed} />}
            </Answer>
          )
        }
      </Answer>
    </Card>
  );
}

function PayForm({ addresses, assets }: { readonly addresses: readonly Address[]; readonly assets: readonly Asset[] }) {
  const queries = useQueryClient();
  const [address, setAddress] = useState(addresses[0]?.address ?? "");
  const [asset, setAsset] = useState(assets[0]?.symbol ?? "ETH");
  const [amount, setAmount] = useState("1");
  const pay = useMutation({
    mutationFn: () => askSandbox<{ tx_id: string }>("POST", "/pay", { address, asset, amount: amount.trim() }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["deposits"] });
      void queries.invalidateQueries({ queryKey: ["sandbox"] });
    },
  });
  return (
    <Form
      label="Pay an address"
      error={pay.error}
      fields={["address", "asset", "amount"]}
      onSubmit={() => pay.mutate()}
      actions={
        <Button look="main" type="submit" busy={pay.isPending} disabled={amount.trim() === ""}>
          Pay
        </Button>
      }
    >
      <SelectField
        label="Address"
        name="address"
        error={pay.error}
        value={address}
        onChange={setAddress}
        choices={addresses.map((one) => ({
          value: one.address,
          label: `${one.label ?? one.account} · ${one.address.slice(0, 8)}…${one.address.slice(-6)}`,
        }))}
      />
      <SelectField
        label="Asset"
        name="asset"
        error={pay.error}
        value={asset}
        onChange={setAsset}
        choices={assets.map(({ symbol, contract }) => ({
          value: symbol,
          label: contract === null ? symbol : `${symbol} (token)`,
        }))}
      />
      <TextField
        label="Amount"
        name="amount"
        inputMode="decimal"
        error={pay.error}
        value={amount}
        onChange={setAmount}
        placeholder="1.5"
      />
      <p className="small quiet">
        A deposit appears as pending among the <Link to="/deposits">deposits</Link> within a second or two. It is
        confirmed three blocks deep, which the receiver below is told.
      </p>
      {pay.data ? (
        <Notice tone="good" title="Paid">
          <span role="status">
            Transaction <Short text={pay.data.tx_id} label="transaction id" />
          </span>
        </Notice>
      ) : null}
    </Form>
  );
}

function FirstAddress({ network }: { readonly network: string }) {
  const queries = useQueryClient();
  const mayWrite = useMay("addresses:write");
  const [address] = useState(() => randomEvmAddress(crypto.getRandomValues(new Uint8Array(20))));
  const make = useMutation({
    mutationFn: async () => await sluice.addresses.create({ network, address, account: "sandbox", label: "Sandbox" }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["addresses"] }),
  });
  return (
    <div className="stack">
      <p>
        No address of yours is on this network yet. <Link to="/addresses">Register one</Link>
        {mayWrite ? ", or have one made up: good for trying out, since nobody has its key." : "."}
      </p>
      {make.error === null ? null : <ErrorNotice error={make.error} />}
      {mayWrite ? (
        <div className="dialog-actions">
          <Button look="main" busy={make.isPending} onClick={() => make.mutate()}>
            Make up an address
          </Button>
        </div>
      ) : null}
    </div>
  );
}
