/** The addresses that are watched, and the extended public keys they are derived from. */

import { useState } from "react";
import { useSearchParams } from "react-router";
import type { Address } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { SelectField, TextField } from "../design/form.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { Tabs } from "../design/tabs.tsx";
import { Short } from "../design/text.tsx";
import { explorerOf } from "../explorers.ts";
import { useNetworks } from "../networks.ts";
import { useMay } from "../session.ts";
import { AddressDialog } from "./addresses/detail.tsx";
import { DeriveDialog, RegisterDialog } from "./addresses/register.tsx";
import { XpubsTab } from "./addresses/xpubs.tsx";

type Opened = "register" | "derive" | null;

export function AddressesPage() {
  const [search, setSearch] = useSearchParams();
  const [opened, setOpened] = useState<Opened>(null);
  const mayWrite = useMay("addresses:write");
  const tab = search.get("tab") ?? "addresses";
  const shown = search.get("address");
  const show = (id: string | null) => setSearch(id === null ? {} : { address: id });
  return (
    <>
      <PageHead
        title="Addresses"
        actions={
          mayWrite && tab === "addresses" ? (
            <>
              <Button onClick={() => setOpened("register")}>Register by hand</Button>
              <Button look="main" onClick={() => setOpened("derive")}>
                Derive the next one
              </Button>
            </>
          ) : undefined
        }
      >
        Where customers pay to. What spends from them stays in your wallet.
      </PageHead>
      <Tabs
        label="Addresses and keys"
        value={tab}
        onChange={(next) => setSearch(next === "addresses" ? {} : { tab: next })}
        tabs={[
          { value: "addresses", name: "Addresses", children: <AddressList onShow={show} /> },
          { value: "keys", name: "Extended keys", children: <XpubsTab /> },
        ]}
      />
      <RegisterDialog
        open={opened === "register"}
        onClose={() => setOpened(null)}
        onMade={(made) => {
          setOpened(null);
          show(made.id);
        }}
      />
      <DeriveDialog
        open={opened === "derive"}
        onClose={() => setOpened(null)}
        onMade={(made) => {
          setOpened(null);
          show(made.id);
        }}
      />
      <AddressDialog id={shown} onClose={() => show(null)} />
    </>
  );
}

function AddressList({ onShow }: { readonly onShow: (id: string) => void }) {
  const [network, setNetwork] = useState("");
  const [account, setAccount] = useState("");
  const networks = useNetworks();
  const filter = {
    ...(network === "" ? {} : { network }),
    ...(account.trim() === "" ? {} : { account: account.trim() }),
  };
  const rows = useRows(["addresses", filter], () => sluice.addresses.list(filter), { refetchInterval: 10_000 });
  const isNarrowed = Object.keys(filter).length > 0;
  return (
    <>
      <div className="columns">
        <SelectField
          label="Network"
          name="network"
          value={network}
          onChange={setNetwork}
          choices={[
            { value: "", label: "Every network" },
            ...(networks.data ?? []).map(({ id }) => ({ value: id, label: id })),
          ]}
        />
        <TextField label="Account" name="account" value={account} onChange={setAccount} placeholder="All accounts" />
      </div>
      <Card flush>
        <PagedTable
          label="Addresses"
          rows={rows}
          columns={columnsOf(onShow)}
          keyOf={(row) => row.id}
          empty={
            <Empty title={isNarrowed ? "No address fits" : "No address is watched yet"}>
              <span>
                {isNarrowed
                  ? "Choose another network or account."
                  : "Register one that your wallet made, or have the next one derived from an extended public key."}
              </span>
            </Empty>
          }
        />
      </Card>
    </>
  );
}

function columnsOf(onShow: (id: string) => void): readonly Column<Address>[] {
  return [
    { name: "Address", cell: (row) => <AddressText of={row} /> },
    { name: "Label", cell: (row) => <span className="break">{row.label ?? <span className="quiet">none</span>}</span> },
    { name: "Account", cell: (row) => <span className="break">{row.account}</span> },
    { name: "Network", cell: (row) => row.network },
    { name: "Watched from", cell: (row) => `block ${row.watched_from}` },
    {
      name: "Made",
      cell: (row) =>
        row.derivation_path === null ? (
          <span style={{ whiteSpace: "nowrap" }}>by hand</span>
        ) : (
          <span>
            derived, <span className="mono">{row.derivation_path}</span>
          </span>
        ),
    },
    {
      name: "Details",
      cell: (row) => (
        <Button small aria-label={`QR code, deposits of ${row.address}`} onClick={() => onShow(row.id)}>
          QR code, deposits
        </Button>
      ),
    },
  ];
}

function AddressText({ of: row }: { readonly of: Address }) {
  const explorer = explorerOf("address", row.network, row.address);
  return (
    <span className="row" style={{ gap: 4 }}>
      <Short text={row.address} label="address" />
      {explorer === null ? null : (
        <a
          className="small"
          href={explorer}
          target="_blank"
          rel="noreferrer"
          aria-label={`${row.address} in an explorer`}
        >
          Explorer
        </a>
      )}
    </span>
  );
}
