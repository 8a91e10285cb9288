/** What the sandbox's parts can be told to do, and what one should see then. */

import type { SandboxState } from "../../sandbox.ts";

interface Mode<Name extends string> {
  readonly value: Name;
  readonly label: string;
  /** What one sees, and where. */
  readonly seen: string;
}

export const RPC_MODES: readonly Mode<SandboxState["rpc"]["mode"]>[] = [
  { value: "ok", label: "Well", seen: "Blocks are read as they come, and deposits follow within a second or two." },
  {
    value: "lag",
    label: "Lags: six blocks behind",
    seen: "A payment appears among the deposits once six more blocks are mined. Nothing is credited twice or lost.",
  },
  {
    value: "drop",
    label: "Drops: loses every request",
    seen: "Nothing new is read; within a minute the network counts as lagging. Back on Well, all that was missed is read.",
  },
  {
    value: "lie",
    label: "Lies: gives answers that contradict each other",
    seen: "Nothing is credited on a lie: deposits wait until it tells the truth again.",
  },
];

export const RECEIVER_MODES: readonly Mode<SandboxState["receiver"]["mode"]>[] = [
  { value: "ok", label: "Well: 204", seen: "Deliveries are verified, answered and listed below." },
  {
    value: "fail",
    label: "Fails: 500",
    seen: "Attempts fail and are repeated after 5 s, 5 min, 30 min and so on; see the endpoint's deliveries.",
  },
  {
    value: "slow",
    label: "Slow: 20 seconds",
    seen: "Attempts end after 15 s and are repeated, though the receiver took them in: the repeats are duplicates below.",
  },
  {
    value: "gone",
    label: "Gone: 410",
    seen: "The next delivery disables the endpoint. Its events wait: set Well again, then enable it.",
  },
];

export function seenWith(modes: readonly Mode<string>[], value: string): string {
  return modes.find((mode) => mode.value === value)?.seen ?? "";
}
