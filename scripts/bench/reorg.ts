/**
 * A reorganisation takes the last three blocks away, and with the first of them a payment that was confirmed: how long
 * until a verified webhook says that it is reverted. The new branch ends at the height of the old one, or one above.
 */

import { startAnvil } from "../../test/support/anvil.ts";
import { openShop, PAID } from "./live-shop.ts";
import { type Bench, quantile } from "./result.ts";

const POLL_MS = 200;
const DEPTH = 3;

export const bench: Bench = {
  about: "from a reorganisation of depth 3 to a verified deposit.reverted",
  run: async ({ quick, say }) => {
    const times = quick ? 8 : 50;
    const chain = await startAnvil(["--no-mining"]);
    const network = { poll_ms: POLL_MS, confirmations: 1 };
    const events = ["deposit.confirmed", "deposit.reverted"];
    const shop = await openShop({ node: chain.url, network, events, tenants: 1 });
    const took: Record<"same height" | "one higher", number[]> = { "same height": [], "one higher": [] };
    let amount = 0n;
    try {
      for (let n = 0; n < times; n++) {
        if (n % 10 === 0) say(`${n} of ${times}`);
        for (const kind of ["same height", "one higher"] as const) {
          // The payer's nonce goes back with the blocks: with one amount it would be one transaction again and again.
          const txId = await chain.send({ to: PAID, value: ++amount });
          await chain.mine(DEPTH);
          const hear = (type: string) => shop.merchant.heard((told) => told.type === type && told.txId === txId);
          await hear("deposit.confirmed");
          await rest(POLL_MS + Math.random() * POLL_MS);
          const at = performance.now();
          await chain.reorg(DEPTH);
          if (kind === "one higher") await chain.mine();
          took[kind].push((await hear("deposit.reverted")).at - at);
        }
      }
    } finally {
      await shop.stop();
      await chain.stop();
    }
    const rows = Object.entries(took).map(([variant, values]) => ({
      variant,
      subject: "sluice",
      figures: { p50_ms: quantile(values, 0.5), p99_ms: quantile(values, 0.99), max_ms: Math.max(...values) },
    }));
    const goals = rows.map(({ variant, figures }) => ({
      name: `depth 3, ${variant}, p99_ms`,
      measured: figures.p99_ms,
      relation: "<=" as const,
      bound: POLL_MS + 50,
    }));
    rows.push({
      variant: "the poll alone",
      subject: "reference",
      figures: { p50_ms: POLL_MS / 2, p99_ms: POLL_MS * 0.99, max_ms: POLL_MS },
    });
    const notes = [
      `A poll each ${POLL_MS} ms, confirmed at 1 block, one provider, ${times} reorganisations each at random moments between two polls.`,
      "Measured elsewhere, on such a machine, from the reorganisation to the handler's call: ponder 72 to 94 ms over a socket,",
      "417 to 1,001 ms polling; subsquid says it only with the next block. Neither of them sends or signs a webhook.",
    ];
    return { rows, goals, notes };
  },
};

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
