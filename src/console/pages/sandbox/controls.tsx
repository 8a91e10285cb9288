/** The chain, the provider, the receiver and the fees: what each may be told, with what to look at afterwards. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import { ErrorNotice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { CheckField, Form, SelectField, TextField } from "../../design/form.tsx";
import { Card } from "../../design/layout.tsx";
import { useToast } from "../../design/toasts.tsx";
import { askSandbox, type SandboxState } from "../../sandbox.ts";
import { readWhole } from "../whole.ts";
import { RECEIVER_MODES, RPC_MODES, seenWith } from "./modes.ts";

/** One call that answers with the state, or changes what the state shows. */
function useCall<Answer>(path: string, onDone: (answer: Answer) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (body: object) => await askSandbox<Answer>("POST", path, body),
    onSuccess: (answer) => {
      if (answer !== null) onDone(answer);
      void queries.invalidateQueries({ queryKey: ["sandbox"] });
    },
  });
}

export function Mine() {
  const [blocks, setBlocks] = useState("1");
  const toast = useToast();
  const count = readWhole(blocks);
  const mine = useCall<{ height: number }>("/mine", ({ height }) => toast(`The chain is at height ${height}.`));
  return (
    <Card title="Mine blocks">
      <Form
        label="Mine blocks"
        error={mine.error}
        fields={["blocks"]}
        onSubmit={() => mine.mutate({ blocks: count })}
        actions={
          <Button look="main" type="submit" busy={mine.isPending} disabled={typeof count !== "number"}>
            Mine
          </Button>
        }
      >
        <TextField
          label="Blocks"
          name="blocks"
          inputMode="numeric"
          error={mine.error}
          value={blocks}
          onChange={setBlocks}
          hint="1 to 100."
        />
        <Then>
          Pending <Link to="/deposits">deposits</Link> count their confirmations up: confirmed three deep, settled when
          they are too deep to be replaced.
        </Then>
      </Form>
    </Card>
  );
}

export function Reorganise({ height }: { readonly height: number }) {
  const [depth, setDepth] = useState("2");
  const [remine, setRemine] = useState(true);
  const toast = useToast();
  const count = readWhole(depth);
  const reorg = useCall<{ height: number; replaced: number }>("/reorg", ({ replaced, height }) =>
    toast(`${replaced === 1 ? "1 block is" : `${replaced} blocks are`} replaced; the chain is at height ${height}.`),
  );
  return (
    <Card title="Reorganise">
      <Form
        label="Reorganise"
        error={reorg.error}
        fields={["depth"]}
        onSubmit={() => reorg.mutate({ depth: count, remine })}
        actions={
          <Button look="main" type="submit" busy={reorg.isPending} disabled={typeof count !== "number"}>
            Reorganise
          </Button>
        }
      >
        <TextField
          label="Depth"
          name="depth"
          inputMode="numeric"
          error={reorg.error}
          value={depth}
          onChange={setDepth}
          hint={`1 to 15 blocks.${replacedText(count, height)} A deposit with three confirmations needs three or more.`}
        />
        <CheckField
          label="Mine the transactions again"
          hint="in the new chain's last block"
          checked={remine}
          onChange={setRemine}
        />
        <Then>
          {remine
            ? "Payments in those blocks move to another one: a confirmed deposit is reverted, then confirmed a second time, each told once. "
            : "Payments in those blocks are gone: a pending deposit is dropped, a confirmed one reverted and its credit taken back. "}
          Look at the <Link to="/deposits">deposits</Link>, and at the balance in the <Link to="/ledger">ledger</Link>.
        </Then>
      </Form>
    </Card>
  );
}

function replacedText(depth: ReturnType<typeof readWhole>, height: number): string {
  if (typeof depth !== "number" || depth < 1 || depth > Math.min(15, height)) return "";
  return depth === 1 ? ` Now that is block ${height}.` : ` Now these are ${height - depth + 1} to ${height}.`;
}

export function Provider({ state }: { readonly state: SandboxState }) {
  const call = useCall("/rpc", () => {});
  return (
    <ModeCard title="Provider" error={call.error}>
      <SelectField
        label="The service's provider"
        name="mode"
        value={pendingMode(call) ?? state.rpc.mode}
        onChange={(mode) => call.mutate({ mode })}
        choices={RPC_MODES}
      />
      <Then>
        {seenWith(RPC_MODES, state.rpc.mode)} See the <Link to="/deposits">deposits</Link> and the{" "}
        <Link to="/">overview</Link>.
      </Then>
    </ModeCard>
  );
}

export function ReceiverControl({ state }: { readonly state: SandboxState }) {
  const call = useCall("/receiver", () => {});
  return (
    <ModeCard title="Webhook receiver" error={call.error}>
      <SelectField
        label="Your receiver"
        name="mode"
        value={pendingMode(call) ?? state.receiver.mode}
        onChange={(mode) => call.mutate({ mode })}
        choices={RECEIVER_MODES}
      />
      <Then>
        {seenWith(RECEIVER_MODES, state.receiver.mode)} See the <Link to="/webhooks">webhooks</Link>.
      </Then>
    </ModeCard>
  );
}

export function Fees({ state }: { readonly state: SandboxState }) {
  const call = useCall("/fees", () => {});
  return (
    <ModeCard title="Fees" error={call.error}>
      <p>
        {state.fees.stuck
          ? "Stuck: the first transaction of each withdrawal offers too little and is left lying."
          : "Well: what a withdrawal offers is enough."}
      </p>
      <Then>
        {state.fees.stuck
          ? "Ask for a withdrawal, then mine five blocks: it is sent again with a higher fee, and that one is mined. Released, what lies there is mined as it is. "
          : "Once they are stuck, a withdrawal stays broadcast until its fee is raised. "}
        See the <Link to="/withdrawals">withdrawals</Link>.
      </Then>
      <div className="dialog-actions">
        <Button
          look={state.fees.stuck ? "main" : undefined}
          busy={call.isPending}
          onClick={() => call.mutate({ stuck: !state.fees.stuck })}
        >
          {state.fees.stuck ? "Release the fees" : "Make fees stick"}
        </Button>
      </div>
    </ModeCard>
  );
}

/** What was chosen is shown while it is on its way. */
function pendingMode(call: { isPending: boolean; variables: object | undefined }): string | null {
  return call.isPending ? ((call.variables as { mode?: string } | undefined)?.mode ?? null) : null;
}

function ModeCard({
  title,
  error,
  children,
}: {
  readonly title: string;
  readonly error: unknown;
  readonly children: ReactNode;
}) {
  return (
    <Card title={title}>
      <div className="stack">
        {children}
        {error === null ? null : <ErrorNotice error={error} />}
      </div>
    </Card>
  );
}

function Then({ children }: { readonly children: ReactNode }) {
  return <p className="small quiet">{children}</p>;
}
