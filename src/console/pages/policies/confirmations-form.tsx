/** Changing when payments count on one network. Its rules are sent together and replace what was there. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { SluiceError } from "../../../sdk/errors.ts";
import type { Network, NewConfirmationRules, Policies } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Form, SelectField, TextField } from "../../design/form.tsx";
import { useToast } from "../../design/toasts.tsx";
import { Changes } from "./changes.tsx";
import { confirmationDifferences } from "./differences.ts";
import {
  type AssetDraft,
  type ConfirmationsDraft,
  confirmationFieldsOf,
  confirmationsDraftOf,
  confirmationsFrom,
  withChanged,
  without,
} from "./drafts.ts";
import css from "./policies.module.css";
import { Add, Group } from "./rule-fields.tsx";

const A_RULE = "A number of blocks, or finalized.";

export function ConfirmationsForm({
  network: { id, assets, finality, confirmations },
  rules,
  onClose,
}: {
  readonly network: Network;
  readonly rules: Policies["confirmations"][string] | undefined;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const [start] = useState(() => confirmationsDraftOf(rules));
  const [draft, setDraft] = useState<ConfirmationsDraft>(start);
  const [unfit, setUnfit] = useState<Error | null>(null);
  const [asking, setAsking] = useState<NewConfirmationRules | null>(null);
  const save = useMutation({
    mutationFn: async (next: NewConfirmationRules) => await sluice.policies.setConfirmations(id, next),
    onSuccess: (after) => {
      queries.setQueryData(["policies"], after);
      toast(`The rules of ${id} hold now.`);
      onClose();
    },
    onError: (error) => {
      // What names a field is shown there.
      if (error instanceof SluiceError && error.errors.length > 0) setAsking(null);
    },
  });
  const set = (change: Partial<ConfirmationsDraft>) => {
    setUnfit(null);
    save.reset();
    setDraft({ ...draft, ...change });
  };
  const error = unfit ?? (asking === null ? save.error : null);
  const changes = asking === null ? [] : confirmationDifferences(rules ?? {}, asking);
  const free = assets.find(({ symbol }) => draft.assets.every((own) => own.symbol !== symbol));
  return (
    <Form
      label={`When payments count on ${id}`}
      error={error}
      fields={confirmationFieldsOf(draft)}
      onSubmit={() => {
        const read = confirmationsFrom(draft);
        save.reset();
        setUnfit(read.ok ? null : read.error);
        setAsking(read.ok ? read.value : null);
      }}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="main" type="submit" disabled={JSON.stringify(draft) === JSON.stringify(start)}>
            Review the change
          </Button>
        </>
      }
    >
      <TextField
        label="Every asset"
        name="default"
        error={error}
        value={draft.rule}
        onChange={(rule) => set({ rule })}
        placeholder={finality === "tag" || confirmations === null ? "finalized" : String(confirmations)}
        hint={`${A_RULE} Empty: the network's own rule.`}
      />
      {draft.assets.map((asset, a) => (
        <AssetGroup
          // biome-ignore lint/suspicious/noArrayIndexKey: its symbol is what is being chosen.
          key={a}
          at={a}
          asset={asset}
          symbols={assets
            .map(({ symbol }) => symbol)
            .filter((symbol) => draft.assets.every((own) => own === asset || own.symbol !== symbol))}
          error={error}
          onChange={(part) => set({ assets: withChanged(draft.assets, a, part) })}
          onRemove={() => set({ assets: without(draft.assets, a) })}
        />
      ))}
      {free === undefined ? null : (
        <Add onClick={() => set({ assets: [...draft.assets, { symbol: free.symbol, rule: "", amounts: [] }] })}>
          Add an asset
        </Add>
      )}
      <Confirm
        title={`Change when payments count on ${id}`}
        confirm="Change the rules"
        open={asking !== null}
        busy={save.isPending}
        error={save.error}
        onConfirm={() => asking !== null && save.mutate(asking)}
        onClose={() => setAsking(null)}
      >
        <div className="stack">
          {changes.length === 0 ? (
            <p>Nothing changes.</p>
          ) : (
            <Changes label="What changes" of={changes} timing={false} />
          )}
          <p>
            It holds at once, for payments that are seen from now on. A block that counts early may still be replaced.
          </p>
        </div>
      </Confirm>
    </Form>
  );
}

function AssetGroup({
  at,
  asset: { symbol, rule, amounts },
  symbols,
  error,
  onChange,
  onRemove,
}: {
  readonly at: number;
  readonly asset: AssetDraft;
  readonly symbols: readonly string[];
  readonly error: unknown;
  readonly onChange: (part: Partial<AssetDraft>) => void;
  readonly onRemove: () => void;
}) {
  const choices = [...new Set([...symbols, symbol])].map((value) => ({ value, label: value }));
  return (
    <Group name={`Asset ${at + 1}`} onRemove={onRemove}>
      <SelectField
        label="Asset"
        name={`asset.${at}`}
        error={error}
        value={symbol}
        choices={choices}
        onChange={(next) => onChange({ symbol: next })}
      />
      <TextField
        label="Any amount"
        name={`assets.${symbol}.default`}
        error={error}
        value={rule}
        onChange={(next) => onChange({ rule: next })}
        hint={`${A_RULE} Empty: as every asset.`}
      />
      {amounts.map((step, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: its place is what the service calls it.
        <fieldset key={i} className={css.step} aria-label={`Amount ${i + 1} of ${symbol}`}>
          <TextField
            label="From"
            name={`assets.${symbol}.amounts.${i}.from`}
            inputMode="decimal"
            error={error}
            value={step.from}
            onChange={(from) => onChange({ amounts: withChanged(amounts, i, { from }) })}
          />
          <TextField
            label="Rule"
            name={`assets.${symbol}.amounts.${i}.confirmations`}
            error={error}
            value={step.rule}
            onChange={(next) => onChange({ amounts: withChanged(amounts, i, { rule: next }) })}
          />
          <Button
            small
            aria-label={`Remove amount ${i + 1} of ${symbol}`}
            onClick={() => onChange({ amounts: without(amounts, i) })}
          >
            Remove
          </Button>
        </fieldset>
      ))}
      <Add onClick={() => onChange({ amounts: [...amounts, { from: "", rule: "" }] })}>Add an amount</Add>
    </Group>
  );
}
