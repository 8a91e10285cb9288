/**
 * Worlds in which signed transactions expire, and exclude each other by nothing else: a chain in memory, and TRON's own
 * adapter over a node whose chain checks what it is sent. Amounts of one coin, accounts of ten.
 */

import { vi } from "vitest";
import { tronHex } from "../../src/core/tron-address.ts";
import { FINAL_BEHIND, LIFE, newTronAddress, txIdOf } from "../support/expiring-chain.ts";
import { parseTx } from "../support/tron-block.ts";
import { TronChain } from "../support/tron-chain.ts";
import { TronNodeDouble } from "../support/tron-double.ts";
import {
  chain,
  checkExpiring,
  ExpiringMerchant,
  firstNode,
  NETWORK,
  startAdapters,
  startExpiring,
  TRX,
  tron,
  watched,
} from "./expiring-line.ts";
import type { PayoutMerchant, PayoutWorld } from "./payout-worlds.ts";

/** What worlds of this kind have in common. */
const expires = {
  replaces: false,
  confirmsFinal: true,
  recovers: true,
  takeAway: null,
  assigned: "transaction_signed",
  halt() {
    watched("halted");
    return () => watched();
  },
} as const;

/** Bytes of one of a merchant's attempts. */
async function rawOf(merchant: PayoutMerchant, txId: string): Promise<string> {
  const query = "SELECT raw FROM expiring_attempts WHERE tx_id = ?1";
  const [row] = await merchant.inside((_, sql) => sql.exec<{ raw: string | null }>(query, txId).toArray());
  if (typeof row?.raw !== "string") throw new Error(`no bytes of ${txId}`);
  return row.raw;
}

/** The next send of the chain in memory is answered so. */
function answerNext(meaning: "unknown" | "provider_unavailable" | "fee_too_low" | "nonce_consumed"): void {
  vi.spyOn(firstNode(), "send").mockImplementationOnce(async (raw) => {
    chain.sent.push(raw);
    chain.pool.set(txIdOf(raw), raw);
    return { meaning, text: "so it is said" };
  });
}

export const expiringWorld: PayoutWorld = {
  ...expires,
  network: NETWORK,
  oneCoin: TRX,
  deep: FINAL_BEHIND + 1,
  final: LIFE + FINAL_BEHIND + 1,
  start: async () => startExpiring(),
  merchant: () => ExpiringMerchant.start({ funds: 10n * TRX }),
  address: newTronAddress,
  received: (_, to) => chain.paidTo(to),
  check: (merchant) => checkExpiring(merchant as ExpiringMerchant),
  loseAnswer: () => answerNext("unknown"),
  answers: {
    "nothing is known": () => answerNext("unknown"),
    "a provider that is away": () => answerNext("provider_unavailable"),
    "a fee that is too low": () => answerNext("fee_too_low"),
  },
  honestAgain() {
    firstNode().sending = "takes";
  },
  raiseFees: () => chain.mine(),
  async mineOnly(merchant, txId) {
    chain.pool.clear();
    chain.land(await rawOf(merchant, txId));
  },
  reorg: (depth) => chain.reorg(depth),
  forget: () => chain.pool.clear(),
  strand() {
    chain.pool.clear();
    firstNode().sending = "drops";
  },
};

const SEND = "wallet/broadcasthex";
const UNSOLID = 2;
/** A minute of blocks. */
const TRON_LIFE = 20;

let tronChain: TronChain;
let double: TronNodeDouble;

class TronMerchant extends ExpiringMerchant {
  static override async start(): Promise<TronMerchant> {
    const merchant = await TronMerchant.opened();
    tronChain.pay(merchant.wallet, 1_000n * TRX);
    tronChain.mine(UNSOLID + 1);
    await merchant.credit("native", 10n * TRX);
    return merchant;
  }

  override async mineAndDrive(blocks = 1): Promise<void> {
    for (let i = 0; i < blocks; i++) {
      tronChain.mine();
      await this.drive();
    }
  }
}

/** Payments in TRX to an address, in any block. */
function paidInTrx(to: string): bigint[] {
  const found: bigint[] = [];
  for (let height = 0; tronChain.has(height); height++) {
    for (const { data, outcome } of tronChain.at(height).txs) {
      const { contract } = data;
      if (contract.kind === "transfer" && contract.to === `41${tronHex(to)}` && outcome === "SUCCESS")
        found.push(contract.amountUnits);
    }
  }
  return found;
}

/** The next send is carried out, and answered otherwise. */
function answerTron(answer: () => unknown): void {
  let isNext = true;
  double.on(SEND, async (_, honest) => {
    const said = await honest();
    if (!isNext) return said;
    isNext = false;
    return answer();
  });
}

function refuseHttp(status: number): void {
  let isNext = true;
  double.respond = (path, honest) => {
    if (path !== SEND || !isNext) return honest();
    isNext = false;
    return new Response("", { status });
  };
}

export const tronWorld: PayoutWorld = {
  ...expires,
  network: NETWORK,
  oneCoin: TRX,
  deep: UNSOLID + 1,
  final: TRON_LIFE + UNSOLID + 1,
  async start() {
    startAdapters();
    tronChain = new TronChain();
    tronChain.mine(30);
    tronChain.unsolid = UNSOLID;
    double = new TronNodeDouble(tronChain);
    // For the tests of this file alone: each has its own copy of every module.
    Object.assign(tron, { caip2: `tron:0x${tronChain.at(0).id.slice(-8)}` });
    vi.spyOn(globalThis, "fetch").mockImplementation(double.fetch);
  },
  merchant: () => TronMerchant.start(),
  address: newTronAddress,
  received: (_, to) => paidInTrx(to),
  check: (merchant) =>
    checkExpiring(merchant as TronMerchant, {
      paidTo: paidInTrx,
      sentIds: () => double.sent.map((raw) => parseTx(raw).txId),
    }),
  loseAnswer: () =>
    answerTron(() => {
      throw new TypeError("fetch failed");
    }),
  answers: {
    "HTTP 429": () => refuseHttp(429),
    "HTTP 502": () => refuseHttp(502),
    "a code that nobody knows": () => answerTron(() => ({ result: false, code: "FULL_MOON", message: "" })),
    SERVER_BUSY: () => answerTron(() => ({ result: false, code: "SERVER_BUSY", message: "" })),
    "another id": () => answerTron(() => ({ result: true, code: "SUCCESS", txid: "11".repeat(32) })),
  },
  honestAgain() {
    double.respond = null;
    double.on(SEND, null);
  },
  raiseFees: () => tronChain.mine(),
  async mineOnly(merchant, txId) {
    tronChain.forget();
    tronChain.put(parseTx(await rawOf(merchant, txId)));
    tronChain.mine();
  },
  /** Nodes take back what was in the blocks: what they know already, they do not take from others. */
  reorg(depth) {
    const { height } = tronChain.head;
    const gone = Array.from({ length: depth }, (_, i) => tronChain.at(height - i).txs).flat();
    tronChain.reorg(depth);
    for (const tx of gone) tronChain.put(tx);
  },
  forget: () => tronChain.forget(),
  strand() {
    tronChain.forget();
    double.on(SEND, () => {
      throw new TypeError("fetch failed");
    });
  },
};
