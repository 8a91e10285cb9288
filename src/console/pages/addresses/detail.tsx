/** One address: what a customer scans, what is known of it, what arrived there, and its end. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { QRCodeSVG } from "qrcode.react";
import { useState } from "react";
import { Link } from "react-router";
import type { Address, Deposit } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm, Dialog } from "../../design/dialog.tsx";
import { SelectField } from "../../design/form.tsx";
import { Facts } from "../../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../../design/table.tsx";
import { Amount, Copy, ExactTime, State, Time } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { explorerOf } from "../../explorers.ts";
import { useNetworks } from "../../networks.ts";
import { useMay } from "../../session.ts";
import styles from "./detail.module.css";
import { type CodeKind, codeMeaning, paymentLink, preferredCode } from "./payment-code.ts";

const CODE_PIXELS = 208;
/** White around the code, in modules: readers need four. */
const QUIET_ZONE = 4;

const KINDS = [
  { value: "address", label: "The address alone" },
  { value: "link", label: "A payment link" },
];

const DEPOSITS: readonly Column<Deposit>[] = [
  {
    name: "Amount",
    cell: (row) => (
      <Link to={`/deposits/${row.id}`}>
        <Amount amount={row.amount} asset={row.asset} />
      </Link>
    ),
  },
  { name: "Status", cell: (row) => <State of={row.status} /> },
  { name: "Seen", cell: (row) => <Time at={row.created_at} /> },
];

/** @param id null: none is shown */
export function AddressDialog({ id, onClose }: { readonly id: string | null; readonly onClose: () => void }) {
  return (
    <Dialog title="Address" open={id !== null} onClose={onClose}>
      {id === null ? null : <Shown id={id} onClose={onClose} />}
    </Dialog>
  );
}

function Shown({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const address = useQuery({
    queryKey: ["addresses", "one", id],
    queryFn: async () => await sluice.addresses.get(id),
    refetchInterval: 5_000,
  });
  const [asked, setAsked] = useState(false);
  const mayWrite = useMay("addresses:write");
  return (
    <>
      <Answer query={address}>
        {(row) => (
          <>
            <Code of={row} />
            <About of={row} />
            <Deposits of={row} />
            <DeleteConfirm of={row} open={asked} onClose={() => setAsked(false)} onDeleted={onClose} />
          </>
        )}
      </Answer>
      <div className="dialog-actions">
        {mayWrite && address.data !== undefined ? (
          <Button look="danger" onClick={() => setAsked(true)}>
            Stop watching
          </Button>
        ) : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </>
  );
}

/** Black on white, whatever the theme: some readers take no other. */
function Code({ of: row }: { readonly of: Address }) {
  const networks = useNetworks();
  const [chosen, setChosen] = useState<CodeKind | null>(null);
  return (
    <Answer query={networks} lines={3}>
      {(all) => {
        const network = all.find(({ id }) => id === row.network) ?? { family: "", caip2: "" };
        const link = paymentLink(network, row.address);
        const kind = link === null ? "address" : (chosen ?? preferredCode(network));
        const text = kind === "link" && link !== null ? link : row.address;
        return (
          <div className={styles.code}>
            <QRCodeSVG
              value={text}
              size={CODE_PIXELS}
              marginSize={QUIET_ZONE}
              level="M"
              bgColor="#ffffff"
              fgColor="#000000"
              role="img"
              title={`QR code: ${text}`}
              className={styles.picture}
            />
            <div className="stack">
              <div className="stack stack-tight">
                <span className="mono break">{text}</span>
                <div>
                  <Copy text={text} label={kind === "link" ? "payment link" : "address"} />
                </div>
              </div>
              {link === null ? (
                <p className="small quiet">{codeMeaning(network)}</p>
              ) : (
                <SelectField
                  label="The code holds"
                  name="code"
                  value={kind}
                  onChange={(next) => setChosen(next as CodeKind)}
                  choices={KINDS}
                  hint={codeMeaning(network)}
                />
              )}
            </div>
          </div>
        );
      }}
    </Answer>
  );
}

function About({ of: row }: { readonly of: Address }) {
  const explorer = explorerOf("address", row.network, row.address);
  return (
    <Facts
      of={[
        ["Network", row.network],
        ["Account", row.account],
        row.label === null ? null : ["Label", row.label],
        [
          "Watched from",
          row.scanned_to < row.watched_from
            ? `block ${row.watched_from}, which is still to come`
            : `block ${row.watched_from}, read up to ${row.scanned_to}`,
        ],
        [
          "Made",
          row.derivation_path === null
            ? "by hand: your wallet made it"
            : `derived, ${row.derivation_path} below the account's key`,
        ],
        ["Registered", <ExactTime key="at" at={row.created_at} />],
        ...Object.entries(row.metadata).map(([name, value]) => [`Metadata: ${name}`, value] as const),
        explorer === null
          ? null
          : [
              "Explorer",
              <a key="explorer" href={explorer} target="_blank" rel="noreferrer">
                Look at the address
              </a>,
            ],
      ]}
    />
  );
}

function Deposits({ of: row }: { readonly of: Address }) {
  const filter = { network: row.network, address: row.address, limit: 10 };
  const rows = useRows(["deposits", filter], () => sluice.deposits.list(filter), { refetchInterval: 3_000 });
  return (
    <section className="stack stack-tight" aria-label="Deposits of this address">
      <h3>Deposits</h3>
      <PagedTable
        label="Deposits of this address"
        rows={rows}
        columns={DEPOSITS}
        keyOf={(deposit) => deposit.id}
        empty={<Empty title="Nothing has arrived here yet" />}
      />
    </section>
  );
}

function DeleteConfirm({
  of: row,
  open,
  onClose,
  onDeleted,
}: {
  readonly of: Address;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const end = useMutation({
    mutationFn: async () => await sluice.addresses.delete(row.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["addresses"], predicate: ({ queryKey }) => queryKey[1] !== "one" });
      toast("The address is not watched any more.");
      onClose();
      onDeleted();
    },
  });
  return (
    <Confirm
      title="Stop watching this address"
      confirm="Stop watching"
      danger
      open={open}
      busy={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate()}
      onClose={() => {
        end.reset();
        onClose();
      }}
    >
      <p>
        What is paid to <span className="mono break">{row.address}</span> from then on is not seen, and nobody is told
        of it. Deposits that are known stay. Customers may have kept the address: make sure that nobody pays to it any
        more.
      </p>
    </Confirm>
  );
}
