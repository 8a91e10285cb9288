/**
 * Changing what may be paid out. All rules are sent together, so the form begins with those that were asked for last: what
 * waits, or what holds. Before anything is sent, what it changes is shown, and what of it has to wait.
 */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { SluiceError } from "../../../sdk/errors.ts";
import type { Network, Policies, WithdrawalRules } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { CheckField, Form, TextField } from "../../design/form.tsx";
import { span } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { useNetworks } from "../../networks.ts";
import { Changes } from "./changes.tsx";
import { withdrawalDifferences } from "./differences.ts";
import { draftOf, fieldsOf, type RulesDraft, rulesFrom } from "./drafts.ts";
import { Approvals, Destinations, Limits } from "./rule-fields.tsx";

type Held = Policies["withdrawals"];

export function RulesForm({ held, onClose }: { readonly held: Held; readonly onClose: () => void }) {
  const networks = useNetworks();
  return <Answer query={networks}>{(all) => <Fields held={held} networks={all} onClose={onClose} />}</Answer>;
}

function Fields({
  held,
  networks,
  onClose,
}: {
  readonly held: Held;
  readonly networks: readonly Network[];
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const [begun] = useState(held);
  const [start] = useState(() => draftOf((begun.pending ?? { rules: begun.current }).rules));
  const [draft, setDraft] = useState<RulesDraft>(start);
  const [unfit, setUnfit] = useState<Error | null>(null);
  const [asking, setAsking] = useState<WithdrawalRules | null>(null);
  const save = useMutation({
    mutationFn: async (rules: WithdrawalRules) => await sluice.policies.setWithdrawals(rules),
    onSuccess: (after) => {
      queries.setQueryData(["policies"], after);
      toast(after.withdrawals.pending === null ? "The rules hold now." : "Written down. What is looser waits.");
      onClose();
    },
    onError: (error) => {
      // What names a field is shown there.
      if (error instanceof SluiceError && error.errors.length > 0) setAsking(null);
    },
  });
  const set = (change: Partial<RulesDraft>) => {
    setUnfit(null);
    save.reset();
    setDraft({ ...draft, ...change });
  };
  const error = unfit ?? (asking === null ? save.error : null);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(start);
  const seconds = /^\d{1,9}$/.test(draft.coolDown.trim()) ? Number(draft.coolDown.trim()) : null;
  return (
    <Form
      label="What may be paid out"
      error={error}
      fields={fieldsOf(draft)}
      onSubmit={() => {
        const read = rulesFrom(draft);
        save.reset();
        setUnfit(read.ok ? null : read.error);
        setAsking(read.ok ? read.value : null);
      }}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="main" type="submit" disabled={!isChanged}>
            Review the change
          </Button>
        </>
      }
    >
      {begun.pending === null ? null : (
        <Notice tone="info" title="You begin with the change that waits">
          <span>What you ask for takes its place, and the wait begins again.</span>
        </Notice>
      )}
      {JSON.stringify(held) === JSON.stringify(begun) ? null : (
        <Notice tone="warn" title="The rules have changed since you began">
          <span>Leave it and begin again, or what you send replaces that change.</span>
        </Notice>
      )}
      <TextField
        label="Cool-down in seconds"
        name="cool_down_seconds"
        inputMode="numeric"
        error={error}
        value={draft.coolDown}
        onChange={(coolDown) => set({ coolDown })}
        hint={`${seconds === null ? "" : `${span(seconds * 1_000)}. `}Anything looser waits for so long, a shorter cool-down too. At most 30 days.`}
      />
      <h3>Destinations</h3>
      <CheckField
        label="Pay to listed destinations only"
        checked={draft.restricted}
        onChange={(restricted) => set({ restricted })}
      />
      {draft.restricted ? <Destinations draft={draft} networks={networks} error={error} onChange={set} /> : null}
      <h3>Limits</h3>
      <Limits draft={draft} networks={networks} error={error} onChange={set} />
      <h3>Approvals</h3>
      <Approvals draft={draft} networks={networks} error={error} onChange={set} />
      {asking === null ? null : (
        <ConfirmChange
          current={held.current}
          next={asking}
          busy={save.isPending}
          error={save.error}
          onConfirm={() => save.mutate(asking)}
          onClose={() => setAsking(null)}
        />
      )}
    </Form>
  );
}

function ConfirmChange({
  current,
  next,
  busy,
  error,
  onConfirm,
  onClose,
}: {
  readonly current: WithdrawalRules;
  readonly next: WithdrawalRules;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  const changes = withdrawalDifferences(current, next);
  const isLooser = changes.some(({ looser }) => looser);
  return (
    <Confirm
      title="Change what may be paid out"
      confirm="Change the rules"
      open
      busy={busy}
      error={error}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <div className="stack">
        {changes.length === 0 ? (
          <p>These are the rules that hold now. Nothing changes, and nothing waits any more.</p>
        ) : (
          <Changes label="What changes" of={changes} timing />
        )}
        {isLooser ? (
          <p>
            What is looser waits for the cool-down that holds now, {span(current.cool_down_seconds * 1_000)}. What is
            stricter holds at once, also for withdrawals that wait for their turn.
          </p>
        ) : null}
      </div>
    </Confirm>
  );
}
