/**
 * Whatever is sent in whatever mixture, carried out by the validators' own runtime: what is credited is what was sent by
 * others, to the unit; and whatever a provider changes in its answer, nothing is ever credited beside it.
 */

import { address, type Instruction } from "@solana/kit";
import { getTransferSolInstruction } from "@solana-program/system";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrivalsOf } from "../../src/chains/solana/arrivals.ts";
import { executedIn } from "../../src/chains/solana/block.ts";
import { readTransaction, transactionId } from "../../src/chains/solana/transaction.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../src/core/solana-address.ts";
import { NATIVE } from "../../src/core/transfer.ts";
import type { Json } from "../support/model-chain.ts";
import { SolanaChain } from "../support/solana-chain.ts";
import { SolanaNodeDouble } from "../support/solana-double.ts";
import { signedTransaction, solanaKey } from "../support/solana-keys.ts";
import {
  batched,
  checkedTransfer,
  giveTokens,
  holding,
  mintTo,
  plainTransfer,
  putMint,
} from "../support/solana-tokens.ts";

const PEOPLE = ["ann", "bob", "eve"].map(solanaKey);
const FORMS = ["coins", "plain", "checked", "batch", "minted", "new"] as const;

interface Step {
  readonly form: (typeof FORMS)[number];
  readonly from: number;
  readonly to: number;
  readonly units: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  form: fc.constantFrom(...FORMS),
  from: fc.nat(2),
  to: fc.nat(2),
  units: fc.nat(1_000),
});

interface Paid {
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  readonly index: string;
}

const chain = new SolanaChain();
const double = new SolanaNodeDouble(chain);
const old = putMint(chain, "old", { program: TOKEN_PROGRAM });
const recent = putMint(chain, "recent", { program: TOKEN_2022_PROGRAM });
for (const { address: who } of PEOPLE) {
  chain.fund(who, 10n ** 12n);
  for (const token of [old, recent]) giveTokens(chain, token, who, 10n ** 9n);
}
const WANTED = { native: true, contracts: new Set<string>([old.mint, recent.mint]) };

/** The instructions of these steps, and what they pay to others. */
function planned(steps: readonly Step[]): { readonly instructions: Instruction[]; readonly paid: Paid[] } {
  const instructions: Instruction[] = [];
  const paid: Paid[] = [];
  for (const [i, { form, from, to, units: amount }] of steps.entries()) {
    const [source, target] = [PEOPLE[from] ?? chain.faucet, PEOPLE[to] ?? chain.faucet];
    const units = BigInt(amount);
    const token = form === "new" ? recent : old;
    const account = holding(token, target.address);
    const index = `ix:${i}${form === "batch" ? "/1" : ""}`;
    const asset = form === "coins" ? NATIVE : token.mint;
    const isOther = form === "minted" || from !== to;
    if (isOther && units > 0n) paid.push({ to: target.address, asset, units, index });
    switch (form) {
      case "coins":
        instructions.push(
          getTransferSolInstruction({ source: source.signer, destination: address(target.address), amount: units }),
        );
        break;
      case "plain":
        instructions.push(plainTransfer(token, source, account, units));
        break;
      case "batch":
        instructions.push(
          batched(plainTransfer(token, source, account, 0n), checkedTransfer(token, source, account, units)),
        );
        break;
      case "minted":
        instructions.push(mintTo(chain, token, account, units));
        break;
      default:
        instructions.push(checkedTransfer(token, source, account, units));
    }
  }
  return { instructions, paid };
}

function mined(steps: readonly Step[], payer: number, version: "legacy" | 1) {
  const { instructions, paid } = planned(steps);
  const parts = { payer: PEOPLE[payer] ?? chain.faucet, signers: [...PEOPLE, chain.faucet], version };
  const id = chain.transact({ ...parts, instructions });
  const { slot } = chain.mine();
  const block = double.honest("getBlock", [slot, { maxSupportedTransactionVersion: 1 }]) as Json;
  return { id, slot, block, paid };
}

const sorted = (lines: readonly string[]) => [...lines].sort();

describe("payments on Solana", () => {
  it("are credited as they were made: each to its receiver, once, under its own key", () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.nat(2),
        fc.constantFrom("legacy" as const, 1 as const),
        (steps, payer, version) => {
          const { id, slot, block, paid } = mined(steps, payer, version);
          const read = [...executedIn(block, slot)];
          expect(read.map(({ txId }) => txId)).toEqual([id]);
          const found = read.flatMap((tx) => arrivalsOf(tx, WANTED));
          expect(found.flatMap(({ irregular }) => irregular)).toEqual([]);
          const told = found.flatMap(({ credits }) => credits);
          expect(sorted(told.map((c) => `${c.transferIndex} ${c.address} ${c.asset} ${c.amountUnits}`))).toEqual(
            sorted(paid.map(({ index, to, asset, units }) => `${index} ${to} ${asset} ${units}`)),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it("are not credited where a balance was changed, and nothing else is", () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.nat(30),
        fc.integer({ min: -3, max: 3 }).filter((by) => by !== 0),
        (steps, place, by) => {
          const { slot, block } = mined(steps, 0, "legacy");
          const honest = [...executedIn(block, slot)].flatMap((tx) => arrivalsOf(tx, WANTED).credits);
          const [{ meta }] = block.transactions as [{ meta: { postBalances: number[] } }];
          const at = place % meta.postBalances.length;
          meta.postBalances[at] = Math.max(0, (meta.postBalances[at] ?? 0) + by);
          const [tx] = executedIn(block, slot);
          if (tx === undefined) throw new Error("a transaction is one");
          const changed = tx.accounts.address(at);
          const credits = arrivalsOf(tx, WANTED).credits;
          const isTouched = (c: { address: string; asset: string }) => c.address === changed && c.asset === NATIVE;
          expect(credits).toEqual(honest.filter((credit) => !isTouched(credit)));
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("bytes of a transaction", () => {
  const raw = (version: "legacy" | 0 | 1, steps: readonly Step[]) =>
    signedTransaction({
      payer: chain.faucet,
      signers: PEOPLE,
      version,
      instructions: planned(steps).instructions,
      blockhash: chain.blockhash(),
    });
  const versions = fc.constantFrom("legacy" as const, 0 as const, 1 as const);

  it("say what Solana's own library wrote into them", () => {
    fc.assert(
      fc.property(versions, fc.array(step, { minLength: 1, maxLength: 5 }), (version, steps) => {
        const tx = readTransaction(raw(version, steps));
        expect(tx.version).toBe(version);
        expect(transactionId(tx)).toMatch(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/);
        expect(tx.instructions.map(({ data }) => Array.from(data))).toEqual(
          planned(steps).instructions.map(({ data = [] }) => Array.from(data as Uint8Array)),
        );
      }),
      { numRuns: 60 },
    );
  });

  it("changed anywhere, cut or lengthened, are another transaction or none, and never a crash", () => {
    fc.assert(
      fc.property(versions, fc.nat(), fc.integer({ min: 1, max: 255 }), (version, at, by) => {
        const bytes = raw(version, [{ form: "checked", from: 0, to: 1, units: 5 }]);
        const changed = bytes.slice();
        changed[at % bytes.length] = (changed[at % bytes.length] ?? 0) ^ by;
        for (const some of [changed, bytes.subarray(0, at % bytes.length), Uint8Array.of(...bytes, by)]) {
          try {
            readTransaction(some);
          } catch (error) {
            expect(error).toMatchObject({ name: "MalformedAnswer" });
          }
        }
        expect(() => readTransaction(bytes.subarray(0, at % bytes.length))).toThrow();
        expect(() => readTransaction(Uint8Array.of(...bytes, by))).toThrow();
      }),
      { numRuns: 200 },
    );
  });
});
