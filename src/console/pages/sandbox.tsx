/** The local sandbox: whatever goes wrong on a chain, at a provider and in a shop's server, made to go wrong here. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Answer, Empty, Notice } from "../design/answers.tsx";
import { Card, Facts, PageHead } from "../design/layout.tsx";
import { Short } from "../design/text.tsx";
import { askSandbox, type SandboxState } from "../sandbox.ts";
import { Fees, Mine, Provider, ReceiverControl, Reorganise } from "./sandbox/controls.tsx";
import { ReceivedDeliveries } from "./sandbox/deliveries.tsx";
import { Pay } from "./sandbox/pay.tsx";

const EVERY_MS = 2_000;

export function SandboxPage() {
  const sandbox = useQuery<SandboxState | null>({
    queryKey: ["sandbox"],
    queryFn: () => askSandbox<SandboxState>("GET", ""),
    refetchInterval: EVERY_MS,
  });
  return (
    <>
      <PageHead title="Sandbox">
        A chain, a provider and a receiver on this machine that do what you tell them.
      </PageHead>
      <Answer query={sandbox}>
        {(state) =>
          state === null ? (
            <Card>
              <Empty title="There is no sandbox here">
                <span>It is there when the service runs on your machine with its own local chain.</span>
              </Empty>
            </Card>
          ) : (
            <Controls state={state} />
          )
        }
      </Answer>
    </>
  );
}

function Controls({ state }: { readonly state: SandboxState }) {
  const changed = [
    state.rpc.mode === "ok" ? null : "the provider",
    state.receiver.mode === "ok" ? null : "the receiver",
    state.fees.stuck ? "the fees" : null,
  ].filter((one) => one !== null);
  return (
    <>
      <Card title="Now">
        <Facts
          of={[
            ["Network", state.chain.network],
            ["Height", String(state.chain.height)],
            ["Told to fail", changed.length === 0 ? "nothing" : changed.join(", ")],
            ["Your receiver", <Short key="url" text={state.receiver.url} label="receiver's URL" keep={24} />],
          ]}
        />
      </Card>
      {state.demo ? (
        <Notice tone="info" title="You are the demo shop">
          <span>
            It has an address, an endpoint at the receiver and some balance, and one <Link to="/deposits">deposit</Link>{" "}
            was under way when the service started.
          </span>
        </Notice>
      ) : null}
      <div className="columns">
        <Pay network={state.chain.network} />
        <Mine />
        <Reorganise height={state.chain.height} />
        <Provider state={state} />
        <ReceiverControl state={state} />
        <Fees state={state} />
      </div>
      <ReceivedDeliveries />
    </>
  );
}
