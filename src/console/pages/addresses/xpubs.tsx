/** Extended public keys: what was registered, and the one check that matters, the first address. */

import { useState } from "react";
import type { Xpub } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Empty } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../../design/table.tsx";
import { Short, Time } from "../../design/text.tsx";
import { useMay } from "../../session.ts";
import { XpubDialog } from "./xpub-form.tsx";

const COLUMNS: readonly Column<Xpub>[] = [
  {
    name: "Label",
    cell: (row) => <span className="break">{row.label ?? <span className="quiet">none</span>}</span>,
  },
  { name: "Network", cell: (row) => row.network },
  {
    name: "Account",
    cell: (row) => (
      <span>
        <span className="mono">{row.path}</span> <span className="small quiet">{row.type}</span>
      </span>
    ),
  },
  { name: "Key", cell: (row) => <span className="mono break">{row.xpub}</span> },
  { name: "First address", cell: (row) => <Short text={row.first_address} label="first address" /> },
  { name: "Next", cell: (row) => <span className="mono">0/{row.next_index}</span> },
  { name: "Registered", cell: (row) => <Time at={row.created_at} /> },
];

export function XpubsTab() {
  const [opened, setOpened] = useState(false);
  const mayWrite = useMay("addresses:write");
  const rows = useRows(["xpubs"], () => sluice.xpubs.list());
  return (
    <>
      <div className="row row-apart">
        <p className="quiet small" style={{ maxWidth: "70ch" }}>
          A wallet account's extended public key lists its addresses and spends nothing. The first address here must be
          the first one in your wallet: compare before you take money. A registered key stays. Solana has no such keys;
          register addresses by hand there.
        </p>
        {mayWrite ? (
          <Button look="main" onClick={() => setOpened(true)}>
            Register a key
          </Button>
        ) : null}
      </div>
      <Card flush>
        <PagedTable
          label="Extended public keys"
          rows={rows}
          columns={COLUMNS}
          keyOf={(row) => row.id}
          empty={
            <Empty title="No extended public key yet">
              <span>With one, every order can have an address of its own.</span>
            </Empty>
          }
        />
      </Card>
      <XpubDialog open={opened} onClose={() => setOpened(false)} />
    </>
  );
}
