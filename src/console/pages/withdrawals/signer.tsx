/** Who signs for a wallet. Another signer is another wallet, with an address of its own. The token is kept nowhere here. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { SignerChoice, Wallet } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, SelectField, TextField } from "../../design/form.tsx";
import { useToast } from "../../design/toasts.tsx";

const FIELDS = ["type", "url", "address", "token"];
const TYPES = [
  { value: "derived", label: "derived: the service, from its own seed" },
  { value: "remote", label: "remote: a Web3Signer of yours" },
];

export function SignerButton({ wallet }: { readonly wallet: Wallet }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        Choose the signer on {wallet.network}
      </Button>
      <Dialog title={`Signer on ${wallet.network}`} open={open} onClose={() => setOpen(false)}>
        {open ? <SignerForm wallet={wallet} onClose={() => setOpen(false)} /> : null}
      </Dialog>
    </>
  );
}

function SignerForm({ wallet, onClose }: { readonly wallet: Wallet; readonly onClose: () => void }) {
  const { network, signer, in_flight: inFlight } = wallet;
  const queries = useQueryClient();
  const toast = useToast();
  const [type, setType] = useState<SignerChoice["type"]>(signer.type);
  const [url, setUrl] = useState(signer.type === "remote" ? signer.url : "");
  const [address, setAddress] = useState(signer.type === "remote" ? wallet.address : "");
  const [token, setToken] = useState("");
  const choose = useMutation({
    // The token is read from the form and is no variable of the mutation: those are kept after it.
    mutationFn: async () => {
      const own = { url: url.trim(), address: address.trim(), token: token === "" ? null : token };
      return await sluice.wallets.chooseSigner(network, type === "derived" ? { type } : { type, ...own });
    },
    gcTime: 0,
    onSuccess: ({ address: next }) => {
      toast(next === wallet.address ? "The signer is chosen." : `The ${network} wallet is ${next} now. Top it up.`);
      void queries.invalidateQueries({ queryKey: ["wallets"] });
      onClose();
    },
  });
  const isWhole = type === "derived" || (url.trim() !== "" && address.trim() !== "");
  return (
    <Form
      label={`Signer on ${network}`}
      error={choose.error}
      fields={FIELDS}
      onSubmit={() => {
        if (isWhole && !choose.isPending) choose.mutate();
      }}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="danger" type="submit" busy={choose.isPending} disabled={!isWhole}>
            Use this signer
          </Button>
        </>
      }
    >
      <Notice tone="warn" title="Another signer is another wallet">
        <span>
          It has another address, and what the present one holds stays there. It is refused while anything is in flight
          from the present wallet{inFlight === 0 ? "." : `: ${inFlight} now.`}
        </span>
      </Notice>
      <SelectField
        label="Signer"
        name="type"
        error={choose.error}
        value={type}
        choices={TYPES}
        onChange={(next) => setType(next === "remote" ? "remote" : "derived")}
      />
      {type === "derived" ? null : (
        <>
          <TextField
            label="URL"
            name="url"
            type="url"
            required
            error={choose.error}
            value={url}
            onChange={setUrl}
            placeholder="https://signer.example/"
            hint="https, and nothing inside. It is asked at once to sign a transaction that can never be mined."
          />
          <TextField
            label="Address it signs for"
            name="address"
            mono
            required
            error={choose.error}
            value={address}
            onChange={setAddress}
          />
          <TextField
            label="Bearer token (optional)"
            name="token"
            type="password"
            mono
            error={choose.error}
            value={token}
            onChange={setToken}
            hint="Stored encrypted, and never shown again. Left empty: none is sent, also if there was one."
          />
        </>
      )}
    </Form>
  );
}
