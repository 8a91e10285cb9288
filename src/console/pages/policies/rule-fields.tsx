/** The fields of destinations, limits and approvals, one group for each. */

import type { ReactNode } from "react";
import type { Network } from "../../../sdk/types.ts";
import { Button } from "../../design/button.tsx";
import { SelectField, TextField } from "../../design/form.tsx";
import { type RulesDraft, withChanged, without } from "./drafts.ts";
import css from "./policies.module.css";

interface Part {
  readonly draft: RulesDraft;
  readonly networks: readonly Network[];
  readonly error: unknown;
  readonly onChange: (change: Partial<RulesDraft>) => void;
}

export function Destinations({ draft: { allowList }, networks, error, onChange }: Part) {
  const change = (at: number, part: Partial<(typeof allowList)[number]>) =>
    onChange({ allowList: withChanged(allowList, at, part) });
  return (
    <>
      {allowList.length === 0 ? <p className="quiet">None listed: nothing could be paid out.</p> : null}
      {allowList.map(({ network, address }, i) => (
        <Group
          // biome-ignore lint/suspicious/noArrayIndexKey: its place is what the service calls it.
          key={i}
          name={`Destination ${i + 1}`}
          onRemove={() => onChange({ allowList: without(allowList, i) })}
        >
          <NetworkField
            path={`allow_list.${i}.network`}
            {...{ networks, error }}
            value={network}
            onChange={(next) => change(i, { network: next })}
          />
          <div className={css.wide}>
            <TextField
              label="Address"
              name={`allow_list.${i}.address`}
              mono
              error={error}
              value={address}
              onChange={(next) => change(i, { address: next })}
            />
          </div>
        </Group>
      ))}
      <Add onClick={() => onChange({ allowList: [...allowList, { network: firstOf(networks).network, address: "" }] })}>
        Add a destination
      </Add>
    </>
  );
}

export function Limits({ draft: { limits }, networks, error, onChange }: Part) {
  const change = (at: number, part: Partial<(typeof limits)[number]>) =>
    onChange({ limits: withChanged(limits, at, part) });
  return (
    <>
      {limits.map(({ network, asset, perWithdrawal, perDay }, i) => (
        <Group
          // biome-ignore lint/suspicious/noArrayIndexKey: its place is what the service calls it.
          key={i}
          name={`Limit ${i + 1}`}
          onRemove={() => onChange({ limits: without(limits, i) })}
        >
          <AssetFields
            path={`limits.${i}`}
            {...{ networks, error, network, asset }}
            onChange={(part) => change(i, part)}
          />
          <TextField
            label="One withdrawal"
            name={`limits.${i}.per_withdrawal`}
            inputMode="decimal"
            placeholder="no limit"
            error={error}
            value={perWithdrawal}
            onChange={(next) => change(i, { perWithdrawal: next })}
          />
          <TextField
            label="24 hours"
            name={`limits.${i}.per_day`}
            inputMode="decimal"
            placeholder="no limit"
            error={error}
            value={perDay}
            onChange={(next) => change(i, { perDay: next })}
          />
        </Group>
      ))}
      <Add onClick={() => onChange({ limits: [...limits, { ...firstOf(networks), perWithdrawal: "", perDay: "" }] })}>
        Add a limit
      </Add>
    </>
  );
}

export function Approvals({ draft: { approvals }, networks, error, onChange }: Part) {
  const change = (at: number, part: Partial<(typeof approvals)[number]>) =>
    onChange({ approvals: withChanged(approvals, at, part) });
  return (
    <>
      {approvals.map(({ network, asset, above }, i) => (
        <Group
          // biome-ignore lint/suspicious/noArrayIndexKey: its place is what the service calls it.
          key={i}
          name={`Approval ${i + 1}`}
          onRemove={() => onChange({ approvals: without(approvals, i) })}
        >
          <AssetFields
            path={`approvals.${i}`}
            {...{ networks, error, network, asset }}
            onChange={(part) => change(i, part)}
          />
          <TextField
            label="Another key above"
            name={`approvals.${i}.above`}
            inputMode="decimal"
            error={error}
            value={above}
            onChange={(next) => change(i, { above: next })}
          />
        </Group>
      ))}
      <Add onClick={() => onChange({ approvals: [...approvals, { ...firstOf(networks), above: "" }] })}>
        Add an approval
      </Add>
    </>
  );
}

export function Group({
  name,
  onRemove,
  children,
}: {
  readonly name: string;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}) {
  return (
    <fieldset className={css.group}>
      <legend>{name}</legend>
      <div className={css.fields}>{children}</div>
      <div>
        <Button small onClick={onRemove}>
          Remove {name.toLowerCase()}
        </Button>
      </div>
    </fieldset>
  );
}

export function Add({ onClick, children }: { readonly onClick: () => void; readonly children: string }) {
  return (
    <div>
      <Button small onClick={onClick}>
        {children}
      </Button>
    </div>
  );
}

function NetworkField({
  path,
  networks,
  error,
  value,
  onChange,
}: {
  readonly path: string;
  readonly networks: readonly Network[];
  readonly error: unknown;
  readonly value: string;
  readonly onChange: (network: string) => void;
}) {
  return (
    <SelectField
      label="Network"
      name={path}
      error={error}
      value={value}
      choices={withOwn(
        networks.map(({ id }) => id),
        value,
      )}
      onChange={onChange}
    />
  );
}

function AssetFields({
  path,
  networks,
  error,
  network,
  asset,
  onChange,
}: {
  readonly path: string;
  readonly networks: readonly Network[];
  readonly error: unknown;
  readonly network: string;
  readonly asset: string;
  readonly onChange: (part: { network?: string; asset?: string }) => void;
}) {
  const assetsOf = (id: string) => networks.find((one) => one.id === id)?.assets.map(({ symbol }) => symbol) ?? [];
  return (
    <>
      <NetworkField
        path={`${path}.network`}
        {...{ networks, error }}
        value={network}
        onChange={(next) =>
          onChange({ network: next, asset: assetsOf(next).includes(asset) ? asset : (assetsOf(next)[0] ?? asset) })
        }
      />
      <SelectField
        label="Asset"
        name={`${path}.asset`}
        error={error}
        value={asset}
        choices={withOwn(assetsOf(network), asset)}
        onChange={(next) => onChange({ asset: next })}
      />
    </>
  );
}

/** What is chosen stays a choice, also when its network is off. */
function withOwn(values: readonly string[], own: string) {
  return [...new Set([...values, own])].map((value) => ({ value, label: value }));
}

function firstOf(networks: readonly Network[]): { network: string; asset: string } {
  const first = networks[0];
  return { network: first?.id ?? "", asset: first?.assets[0]?.symbol ?? "" };
}
