/** The hot wallets: one for each network, which pays the withdrawals and their fees and has to be kept topped up. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Wallet } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Card, Facts } from "../../design/layout.tsx";
import { Amount, Copy, State } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { explorerOf } from "../../explorers.ts";
import { useNetworks } from "../../networks.ts";
import { useMay } from "../../session.ts";
import { SignerButton } from "./signer.tsx";

/** More than there are networks. */
const MOST = 200;
/** A top-up has no event. */
const POLL_MS = 10_000;

export function Wallets() {
  const wallets = useQuery({
    queryKey: ["wallets", "all"],
    queryFn: () => sluice.wallets.list().toArray(MOST),
    refetchInterval: POLL_MS,
  });
  return (
    <Answer query={wallets}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title="No wallet can be shown yet">
            <span>There is one for each network that is on, as soon as its address is watched.</span>
          </Empty>
        ) : (
          <>
            <p className="quiet">
              Withdrawals are paid from here, and deposits do not arrive here by themselves: keep each topped up, with
              what you pay out and with the network's coin for fees.
            </p>
            <div className="columns">
              {rows.map((wallet) => (
                <WalletCard key={wallet.network} wallet={wallet} />
              ))}
            </div>
          </>
        )
      }
    </Answer>
  );
}

function WalletCard({ wallet }: { readonly wallet: Wallet }) {
  const { network, address, signer, balances, next_nonce: nonce, in_flight: inFlight, status, incident } = wallet;
  const networks = useNetworks();
  const mayChoose = useMay("admin") && networks.data?.find(({ id }) => id === network)?.family === "evm";
  const explorer = explorerOf("address", network, address);
  return (
    <Card title={network} actions={<State of={status} />}>
      <div className="stack">
        {status === "stopped" ? <Stopped network={network} incident={incident} /> : null}
        <Facts
          of={[
            [
              "Address",
              <span key="address" className="row" style={{ gap: 4 }}>
                <span className="mono break">{address}</span>
                <Copy text={address} label={`address of the ${network} wallet`} />
                {explorer === null ? null : (
                  <a href={explorer} target="_blank" rel="noreferrer">
                    Explorer
                  </a>
                )}
              </span>,
            ],
            ["Holds", <Holdings key="holds" of={balances} />],
            ["In flight", inFlight === 0 ? "nothing" : `${inFlight} signed and not final`],
            nonce === null ? null : ["Next nonce", String(nonce)],
            ["Signs", signer.type === "derived" ? "the service, from its seed" : "a remote signer"],
            [
              signer.type === "derived" ? "Path" : "URL",
              <span key="where" className="mono break">
                {signer.type === "derived" ? signer.path : signer.url}
              </span>,
            ],
          ]}
        />
        {mayChoose ? (
          <div>
            <SignerButton wallet={wallet} />
          </div>
        ) : null}
      </div>
    </Card>
  );
}

function Holdings({ of: balances }: { readonly of: Wallet["balances"] }) {
  if (balances === null) return <span className="quiet">not known: the network is out of reach</span>;
  if (balances.length === 0) return <span className="quiet">nothing</span>;
  return (
    <span className="stack stack-tight" style={{ gap: 0, justifyItems: "start" }}>
      {balances.map(({ asset, amount }) => (
        <Amount key={asset} amount={amount} asset={asset} />
      ))}
    </span>
  );
}

/** Why nothing is signed, and how a person who has looked lets it go on. */
function Stopped({ network, incident }: { readonly network: string; readonly incident: string | null }) {
  const may = useMay("admin");
  const queries = useQueryClient();
  const toast = useToast();
  // One key for as long as the question stands: a repeat after a lost answer is the same resumption.
  const [asking, setAsking] = useState<string | null>(null);
  const resume = useMutation({
    mutationFn: async (idempotencyKey: string) => await sluice.wallets.resume(network, { idempotencyKey }),
    onSuccess: () => {
      toast(`The ${network} wallet goes on.`);
      setAsking(null);
      void queries.invalidateQueries({ queryKey: ["wallets"] });
      void queries.invalidateQueries({ queryKey: ["withdrawals"] });
    },
  });
  return (
    <Notice tone="bad" title="Stopped: it signs and sends nothing">
      <span>{incident ?? "No reason is kept."}</span>
      {may ? (
        <div>
          <Button
            small
            onClick={() => {
              resume.reset();
              setAsking(crypto.randomUUID());
            }}
          >
            Resume the {network} wallet
          </Button>
        </div>
      ) : (
        <span className="small quiet">A key with admin can let it go on.</span>
      )}
      <Confirm
        title={`Resume the ${network} wallet`}
        confirm="Resume it"
        danger
        open={asking !== null}
        busy={resume.isPending}
        error={resume.error}
        onClose={() => setAsking(null)}
        onConfirm={() => asking !== null && resume.mutate(asking)}
      >
        <div className="stack">
          <p>{incident}</p>
          <p>
            It stopped because its nonces or coins are not what they should be: somebody else signs with its key. Resume
            it only when a person has looked and the reason is gone. A nonce that another transaction holds is then
            tried again with a higher fee.
          </p>
        </div>
      </Confirm>
    </Notice>
  );
}
