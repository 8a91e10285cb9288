/**
 * A chain whose transactions expire, in memory, behind nodes that lag, lie, lose answers or are gone. A transaction lands
 * in a block at or below its expiry, or never; nothing else keeps two of them apart. Ids are base58, in which case matters.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import type {
  ExpiringChain,
  ExpiringCost,
  ExpiringIntent,
  ExpiringLook,
  ExpiringNode,
  ExpiringQuestion,
  ExpiringSigner,
  Landed,
  Prepared,
  ReadExpiring,
  Unsigned,
} from "../../src/chains/expiring-payout.ts";
import { ChainFault } from "../../src/chains/port.ts";
import type { SendMeaning } from "../../src/core/send-answer.ts";
import { tronAddress } from "../../src/core/tron-address.ts";
import { step } from "../../src/steps.ts";

/** Blocks after the one it was made on in which a transaction may land, and blocks behind the head that are final. */
export const LIFE = 10;
export const FINAL_BEHIND = 3;
export const FEE = 1_100n;

/** What is signed, as JSON in hex. */
interface Payment {
  readonly sender: string;
  readonly asset: string;
  readonly to: string;
  readonly amount: string;
  /** Block it was made on: what is made on the next one has other bytes. */
  readonly madeOn: number;
  readonly expiresAt: number;
}

const toHex = (value: unknown) => bytesToHex(utf8ToBytes(JSON.stringify(value)));
const fromHex = (hex: string): unknown => JSON.parse(new TextDecoder().decode(hexToBytes(hex)));
export const paymentIn = (raw: string) => fromHex((fromHex(raw) as { bytes: string }).bytes) as Payment;
export const txIdOf = (raw: string) => base58.encode(sha256(hexToBytes(raw)));
const hashAt = (height: number) => base58.encode(sha256(utf8ToBytes(`block ${height}`)));

let names = 0;

/** An address that nothing was ever paid to. */
export function newTronAddress(): string {
  return tronAddress(bytesToHex(sha256(utf8ToBytes(`somebody ${++names}`)).slice(0, 20)));
}

/** How a transaction ends in a block. */
export type Fate = "succeeds" | "fails" | "moves less";

export class ModelExpiringChain {
  head = 100;
  /** Whether signed bytes say when they expire. */
  statesExpiry = true;
  /** What is to land in the next block. */
  pool = new Map<string, string>();
  /** Everything that ever came to any node, oldest first. */
  readonly sent: string[] = [];
  readonly landed = new Map<string, Landed>();
  readonly #funds = new Map<string, bigint>();
  fate: Fate = "succeeds";

  get finalHeight(): number {
    return this.head - FINAL_BEHIND;
  }

  fund(owner: string, asset: string, units: bigint): void {
    const key = `${owner}/${asset}`;
    this.#funds.set(key, (this.#funds.get(key) ?? 0n) + units);
  }

  balanceOf(owner: string, asset: string): bigint {
    let units = this.#funds.get(`${owner}/${asset}`) ?? 0n;
    for (const { moves, height, feeUnits } of this.landed.values()) {
      if (height > this.finalHeight) continue;
      for (const move of moves) if (move.from === owner && move.asset === asset) units -= move.amountUnits;
      if (asset === "native") units -= feeUnits;
    }
    return units;
  }

  mine(blocks = 1): void {
    for (let i = 0; i < blocks; i++) {
      this.head++;
      for (const [txId, raw] of this.pool) this.#land(txId, raw);
      this.pool.clear();
    }
  }

  /** These bytes land now, wherever they were kept. */
  land(raw: string): void {
    this.pool.set(txIdOf(raw), raw);
    this.mine();
  }

  /** Takes the top blocks off, which are not final, and puts one more empty ones in their place; the pool takes nothing back. */
  reorg(depth: number): void {
    for (const [txId, { height }] of this.landed) if (height > this.head - depth) this.landed.delete(txId);
    this.head++;
  }

  #land(txId: string, raw: string): void {
    const { sender, asset, to, amount, expiresAt } = paymentIn(raw);
    if (this.head > expiresAt || this.landed.has(txId)) return;
    const success = this.fate !== "fails";
    const amountUnits = BigInt(amount) - (this.fate === "moves less" ? 1n : 0n);
    const moves = success ? [{ asset, from: sender, to, amountUnits }] : [];
    this.landed.set(txId, { txId, height: this.head, blockHash: hashAt(this.head), success, feeUnits: FEE, moves });
  }

  /** Base units of each payment to an address. */
  paidTo(address: string): bigint[] {
    const moves = [...this.landed.values()].flatMap((one) => one.moves);
    return moves.filter(({ to }) => to === address).map(({ amountUnits }) => amountUnits);
  }
}

export class ModelExpiringNode implements ExpiringNode {
  readonly name: string;
  readonly chain: ModelExpiringChain;
  down = false;
  /** Blocks by which its final block is behind. */
  lag = 0;
  /** What it says of a transaction, whatever is true; `unsaid`: it cannot tell. */
  says: ((txId: string) => Landed | "pending" | null | "unsaid" | undefined) | null = null;
  /** `lost`: it takes the bytes, and its answer does not arrive. `drops`: it says that it took them, and did not. */
  sending: "takes" | "lost" | "drops" | "refuses" = "takes";
  meaning: SendMeaning = "accepted";
  preparing: Prepared | ((intent: ExpiringIntent) => ExpiringIntent) | null = null;
  simulating: { readonly ok: false; readonly detail: string } | { readonly ok: true } | null = null;
  /** How often each call was made. */
  readonly asked: string[] = [];

  constructor(chain: ModelExpiringChain, name = "model") {
    this.chain = chain;
    this.name = name;
  }

  look({ attempts }: ExpiringQuestion): Promise<ExpiringLook> {
    return this.#answer("look", () => {
      const finalHeight = this.chain.finalHeight - this.lag;
      const found = new Map<string, Landed | "pending" | null>();
      for (const { txId, expiresAt } of attempts) {
        const said = this.says?.(txId);
        const landed = this.chain.landed.get(txId);
        if (said === "unsaid") continue;
        if (said !== undefined) found.set(txId, said);
        else if (landed !== undefined) found.set(txId, landed.height <= finalHeight ? landed : "pending");
        else if (finalHeight > expiresAt) found.set(txId, null);
        else if (this.chain.pool.has(txId)) found.set(txId, "pending");
      }
      return { finalHeight, finalPoint: finalHeight, found };
    });
  }

  prepare(intent: ExpiringIntent): Promise<Prepared> {
    return this.#answer("prepare", () => {
      if (typeof this.preparing === "object" && this.preparing !== null) return this.preparing;
      return { ok: true, unsigned: this.#unsigned(this.preparing?.(intent) ?? intent) };
    });
  }

  #unsigned({ sender, asset, destination: to, amountUnits }: ExpiringIntent): Unsigned {
    const { head } = this.chain;
    const payment = { sender, asset, to, amount: amountUnits.toString(), madeOn: head, expiresAt: head + LIFE };
    return { bytes: toHex(payment), expiresAt: payment.expiresAt, feeMostUnits: 2n * FEE };
  }

  simulate() {
    return this.#answer("simulate", () => this.simulating);
  }

  async send(raw: string, txId: string): Promise<{ meaning: SendMeaning; text: string }> {
    const lost = { meaning: "unknown", text: "no answer" } as const;
    try {
      return await this.#answer("send", () => {
        if (txIdOf(raw) !== txId) throw new Error(`bytes of ${txIdOf(raw)} are sent as ${txId}`);
        this.chain.sent.push(raw);
        if (this.sending === "refuses") return { meaning: this.meaning, text: "refused" };
        const isKnown = this.chain.pool.has(txId) || this.chain.landed.has(txId);
        if (this.sending !== "drops" && !isKnown) this.chain.pool.set(txId, raw);
        if (this.sending === "lost") return lost;
        return { meaning: isKnown ? "already_known" : "accepted", text: txId };
      });
    } catch {
      return lost;
    }
  }

  cost(): Promise<ExpiringCost> {
    return this.#answer("cost", () => ({
      nowUnits: FEE,
      mostUnits: 2n * FEE,
      parts: [{ kind: "bandwidth" as const, quantity: 268, units: FEE }],
      warning: null,
    }));
  }

  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]> {
    return this.#answer("balances", () => ["native", ...contracts].map((asset) => this.chain.balanceOf(owner, asset)));
  }

  #answer<T>(call: string, answer: () => T): Promise<T> {
    this.asked.push(call);
    return step(`rpc ${call}`, async () => {
      if (this.down) throw new ChainFault("it is gone", true, this.name);
      return answer();
    });
  }
}

/** What the withdrawal line takes of a network. Signatures are the signer's name. */
export function modelExpiringChain(nodes: readonly ExpiringNode[]): ExpiringChain {
  const [first] = nodes;
  const isStated = !(first instanceof ModelExpiringNode) || first.chain.statesExpiry;
  return {
    nodes,
    longestLife: 10 * LIFE,
    signer: (seedHex, tenantId) => new ModelSigner(seedHex, tenantId),
    ...(isStated ? {} : { landsUntil: (finalPoint: number) => finalPoint + FINAL_BEHIND + LIFE }),
    read: (raw, unsigned, intent) => readModel(raw, unsigned, intent, isStated),
  };
}

class ModelSigner implements ExpiringSigner {
  readonly address: string;
  readonly path = "m/44'/195'/0'";

  constructor(seedHex: string, tenantId: string) {
    this.address = tronAddress(bytesToHex(sha256(utf8ToBytes(`${seedHex} ${tenantId}`)).slice(0, 20)));
  }

  async sign({ bytes }: Unsigned): Promise<string> {
    return toHex({ bytes, signature: this.address });
  }
}

function readModel(raw: string, unsigned: Unsigned, intent: ExpiringIntent, isStated: boolean): ReadExpiring {
  const { bytes, signature } = fromHex(raw) as { bytes: string; signature: string };
  const { sender, asset, to, amount, expiresAt } = paymentIn(raw);
  const isSame = bytes === unsigned.bytes && signature === intent.sender && sender === intent.sender;
  const isAsked = asset === intent.asset && to === intent.destination && amount === intent.amountUnits.toString();
  if (!isSame || !isAsked || (isStated && expiresAt !== unsigned.expiresAt))
    return { ok: false, problem: "it pays something else" };
  return { ok: true, signed: { txId: txIdOf(raw), raw } };
}
