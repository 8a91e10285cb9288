/**
 * Registering an extended public key. What is private is recognised before it is sent; what the service refuses is
 * told in its words; and what it took is shown as the first address, to be compared with the wallet's.
 */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AddressType, Xpub } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField, TextField } from "../../design/form.tsx";
import { Copy } from "../../design/text.tsx";
import { useNetworks } from "../../networks.ts";
import { readWhole } from "../whole.ts";
import { privateKeyIn } from "./private-key.ts";

const TYPES = [
  { value: "", label: "As the key says" },
  { value: "p2wpkh", label: "p2wpkh: bc1q…, m/84'" },
  { value: "p2tr", label: "p2tr: bc1p…, m/86'" },
  { value: "p2sh-p2wpkh", label: "p2sh-p2wpkh: 3…, m/49'" },
  { value: "p2pkh", label: "p2pkh: 1…, m/44'" },
];

const WHICH: Record<string, string> = {
  bitcoin: "Of the account: zpub, ypub or xpub; vpub, upub or tpub on test networks. Never a private key.",
  evm: "The xpub of the account m/44'/60'/0'. Never a private key. One account for each network.",
  tron: "The xpub of the account m/44'/195'/0'. Never a private key.",
};

export function XpubDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="Register an extended public key" open={open} onClose={onClose}>
      <Register onClose={onClose} />
    </Dialog>
  );
}

function Register({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<Xpub | null>(null);
  return made === null ? <XpubForm onClose={onClose} onMade={setMade} /> : <FirstAddress of={made} onClose={onClose} />;
}

function XpubForm({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (made: Xpub) => void }) {
  const queries = useQueryClient();
  const networks = useNetworks();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [chosen, setChosen] = useState<string | null>(null);
  const [xpub, setXpub] = useState("");
  const [type, setType] = useState("");
  const [label, setLabel] = useState("");
  const [next, setNext] = useState("");
  const able = (networks.data ?? []).filter(({ family }) => family !== "solana");
  const network = able.find(({ id }) => id === chosen) ?? able[0];
  const nextIndex = readWhole(next);
  const secret = privateKeyIn(xpub);
  const make = useMutation({
    mutationFn: async () =>
      await sluice.xpubs.create(
        {
          network: network?.id ?? "",
          xpub: xpub.trim(),
          ...(type === "" || network?.family !== "bitcoin" ? {} : { type: type as AddressType }),
          label: label.trim() === "" ? null : label.trim(),
          ...(typeof nextIndex === "number" ? { next_index: nextIndex } : {}),
        },
        { idempotencyKey },
      ),
    onSuccess: (row) => {
      void queries.invalidateQueries({ queryKey: ["xpubs"] });
      onMade(row);
    },
  });
  return (
    <Form
      label="Register an extended public key"
      error={make.error}
      fields={["network", "xpub", "type", "label", "next_index"]}
      onSubmit={() => make.mutate()}
      actions={
        <FormActions
          verb="Register"
          onCancel={onClose}
          busy={make.isPending}
          disabled={network === undefined || xpub.trim() === "" || secret !== null || nextIndex === undefined}
        />
      }
    >
      <SelectField
        label="Network"
        name="network"
        error={make.error}
        value={network?.id ?? ""}
        onChange={setChosen}
        choices={able.map(({ id }) => ({ value: id, label: id }))}
      />
      <TextField
        label="Extended public key"
        name="xpub"
        mono
        error={make.error}
        value={xpub}
        onChange={setXpub}
        hint={WHICH[network?.family ?? ""]}
      />
      {secret === null ? null : (
        <Notice tone="bad" title={`This is ${secret}`}>
          It has not left this page. Whoever has it can spend everything below it: take it out of the field, and out of
          the clipboard. What is needed is the account's extended public key.
        </Notice>
      )}
      {network?.family === "bitcoin" ? (
        <SelectField
          label="Addresses"
          name="type"
          error={make.error}
          value={type}
          onChange={setType}
          choices={TYPES}
          hint="An xpub or tpub does not say which addresses your wallet makes: choose then."
        />
      ) : null}
      <TextField
        label="Label"
        name="label"
        error={make.error}
        value={label}
        onChange={setLabel}
        hint="A text for people."
      />
      <TextField
        label="First index to hand out"
        name="next_index"
        inputMode="numeric"
        error={make.error}
        value={next}
        onChange={setNext}
        placeholder="0"
        hint={nextIndex === undefined ? "Expected a whole number." : "Above those that customers were given before."}
      />
    </Form>
  );
}

function FirstAddress({ of: row, onClose }: { readonly of: Xpub; readonly onClose: () => void }) {
  return (
    <>
      <p>
        Your wallet's first receiving address, <span className="mono">{row.path}/0/0</span>, must be this one:
      </p>
      <output className="code" aria-label="First address">
        {row.first_address}
      </output>
      <Notice tone="warn" title="Compare it before you take money">
        When your wallet shows another one, it is another account, another kind of address or another passphrase: then
        give no address of this key to customers.
      </Notice>
      <div className="dialog-actions">
        <Copy text={row.first_address} label="first address" />
        <Button look="main" onClick={onClose}>
          It is the same
        </Button>
      </div>
    </>
  );
}
