/**
 * Two ways to an address: one that the merchant's wallet made, and the next one below an extended public key. Each form
 * has one idempotency key for all its submissions: a repeat after a lost answer makes no second address.
 */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import type { Address, Xpub } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Form, FormActions, SelectField, TextField } from "../../design/form.tsx";
import { useNetworks } from "../../networks.ts";
import { readWhole } from "../whole.ts";
import { privateKeyIn } from "./private-key.ts";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onMade: (address: Address) => void;
}

const MOST_KEYS = 200;

export function RegisterDialog({ open, onClose, onMade }: DialogProps) {
  return (
    <Dialog title="Register an address" open={open} onClose={onClose}>
      <RegisterForm onClose={onClose} onMade={onMade} />
    </Dialog>
  );
}

function RegisterForm({ onClose, onMade }: Omit<DialogProps, "open">) {
  const queries = useQueryClient();
  const networks = useNetworks();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [chosen, setChosen] = useState<string | null>(null);
  const [address, setAddress] = useState("");
  const [account, setAccount] = useState("");
  const [label, setLabel] = useState("");
  const [start, setStart] = useState("");
  const network = chosen ?? networks.data?.[0]?.id ?? "";
  const startHeight = readWhole(start);
  const isPrivate = privateKeyIn(address) !== null;
  const make = useMutation({
    mutationFn: async () =>
      await sluice.addresses.create(
        {
          network,
          address: address.trim(),
          ...(account.trim() === "" ? {} : { account: account.trim() }),
          label: label.trim() === "" ? null : label.trim(),
          start_height: startHeight ?? null,
        },
        { idempotencyKey },
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["addresses"] });
      onMade(made);
    },
  });
  return (
    <Form
      label="Register an address"
      error={make.error}
      fields={["network", "address", "account", "label", "start_height"]}
      onSubmit={() => make.mutate()}
      actions={
        <FormActions
          verb="Register"
          onCancel={onClose}
          busy={make.isPending}
          disabled={network === "" || address.trim() === "" || isPrivate || startHeight === undefined}
        />
      }
    >
      <SelectField
        label="Network"
        name="network"
        error={make.error}
        value={network}
        onChange={setChosen}
        choices={(networks.data ?? []).map(({ id }) => ({ value: id, label: id }))}
      />
      <TextField label="Address" name="address" mono error={make.error} value={address} onChange={setAddress} />
      {isPrivate ? (
        <Notice tone="bad" title="This is no address">
          It looks like a private key. It was not sent. An address is what others pay to.
        </Notice>
      ) : null}
      <AccountAndLabel {...{ account, setAccount, label, setLabel }} error={make.error} />
      <TextField
        label="Start height"
        name="start_height"
        inputMode="numeric"
        error={make.error}
        value={start}
        onChange={setStart}
        placeholder="From the next block on"
        hint={
          startHeight === undefined
            ? "Expected a whole number."
            : "When it may have been paid before: the block height to read from. Past blocks are read in the background."
        }
      />
    </Form>
  );
}

export function DeriveDialog({ open, onClose, onMade }: DialogProps) {
  return (
    <Dialog title="Derive the next address" open={open} onClose={onClose}>
      <DeriveChoice onClose={onClose} onMade={onMade} />
    </Dialog>
  );
}

function DeriveChoice(props: Omit<DialogProps, "open">) {
  const xpubs = useQuery<Xpub[]>({
    queryKey: ["xpubs", "choices"],
    queryFn: () => sluice.xpubs.list().toArray(MOST_KEYS),
  });
  return (
    <Answer query={xpubs} lines={3}>
      {(keys) =>
        keys.length === 0 ? (
          <>
            <Empty title="There is no extended public key yet">
              <span>Register the one of your wallet's account once; it can list addresses, and cannot spend.</span>
              <Link to="/addresses?tab=keys" onClick={props.onClose}>
                To the extended keys
              </Link>
            </Empty>
            <div className="dialog-actions">
              <Button onClick={props.onClose}>Close</Button>
            </div>
          </>
        ) : (
          <DeriveForm {...props} keys={keys} />
        )
      }
    </Answer>
  );
}

function DeriveForm({
  keys,
  onClose,
  onMade,
}: Omit<DialogProps, "open"> & {
  readonly keys: readonly Xpub[];
}) {
  const queries = useQueryClient();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [chosen, setChosen] = useState(keys[0]?.id ?? "");
  const [account, setAccount] = useState("");
  const [label, setLabel] = useState("");
  const key = keys.find(({ id }) => id === chosen);
  const make = useMutation({
    mutationFn: async () =>
      await sluice.addresses.create(
        {
          network: key?.network ?? "",
          xpub_id: chosen,
          ...(account.trim() === "" ? {} : { account: account.trim() }),
          label: label.trim() === "" ? null : label.trim(),
        },
        { idempotencyKey },
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["addresses"] });
      void queries.invalidateQueries({ queryKey: ["xpubs"] });
      onMade(made);
    },
  });
  return (
    <Form
      label="Derive the next address"
      error={make.error}
      fields={["network", "xpub_id", "account", "label"]}
      onSubmit={() => make.mutate()}
      actions={<FormActions verb="Derive" onCancel={onClose} busy={make.isPending} />}
    >
      <SelectField
        label="Extended public key"
        name="xpub_id"
        error={make.error}
        value={chosen}
        onChange={setChosen}
        choices={keys.map((one) => ({
          value: one.id,
          label: `${one.label ?? one.xpub} · ${one.network} · ${one.type}`,
        }))}
        hint={key === undefined ? undefined : `Its next address is 0/${key.next_index} of ${key.path}, or a later one.`}
      />
      <AccountAndLabel {...{ account, setAccount, label, setLabel }} error={make.error} />
    </Form>
  );
}

function AccountAndLabel({
  account,
  setAccount,
  label,
  setLabel,
  error,
}: {
  readonly account: string;
  readonly setAccount: (value: string) => void;
  readonly label: string;
  readonly setLabel: (value: string) => void;
  readonly error: unknown;
}) {
  return (
    <>
      <TextField
        label="Account"
        name="account"
        error={error}
        value={account}
        onChange={setAccount}
        placeholder="default"
        hint="Your own name of the customer or order; what arrives is booked to it."
      />
      <TextField label="Label" name="label" error={error} value={label} onChange={setLabel} hint="A text for people." />
    </>
  );
}
