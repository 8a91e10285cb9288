/**
 * A TRC-20 token as a virtual machine of its own, for tests that cannot start one: what a transfer and a question for a
 * balance do, and no more. What real contracts do is run by `tron-vm`.
 */

import type { Execution } from "./tron-block.ts";
import type { ContractCall, Vm } from "./tron-chain.ts";

const TRANSFER = "a9059cbb";
const BALANCE_OF = "70a08231";
const TRANSFER_TOPIC = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** As USDT takes to an address that has some. */
const ENERGY = 64_285;
const REVERTED: Execution = { outcome: "REVERT", energy: 3_000, returned: "", logs: [] };

export class TronToken implements Vm {
  /** By 20 bytes in hex. */
  readonly units = new Map<string, bigint>();
  /** Whoever it lets nobody pay. */
  readonly refused = new Set<string>();
  readonly #contract: string;

  /** @param contract 20 bytes, hex */
  constructor(contract: string) {
    this.#contract = contract;
  }

  has(contract: string): boolean {
    return contract === this.#contract;
  }

  async call({ from, data }: ContractCall): Promise<Execution> {
    const of = (who: string) => this.units.get(who) ?? 0n;
    const first = data.slice(32, 72);
    if (data.startsWith(BALANCE_OF)) return { outcome: "SUCCESS", energy: 500, returned: word(of(first)), logs: [] };
    const units = BigInt(`0x${data.slice(72, 136) || "0"}`);
    if (!data.startsWith(TRANSFER) || this.refused.has(first) || units > of(from)) return REVERTED;
    const topics = [TRANSFER_TOPIC, from.padStart(64, "0"), first.padStart(64, "0")];
    const log = { address: this.#contract, topics, data: word(units) };
    return { outcome: "SUCCESS", energy: ENERGY, returned: word(1n), logs: [log] };
  }

  async execute(call: ContractCall): Promise<Execution> {
    const done = await this.call(call);
    if (done.outcome !== "SUCCESS" || done.logs.length === 0) return done;
    const [to, units] = [call.data.slice(32, 72), BigInt(`0x${call.data.slice(72, 136)}`)];
    this.units.set(call.from, (this.units.get(call.from) ?? 0n) - units);
    this.units.set(to, (this.units.get(to) ?? 0n) + units);
    return done;
  }
}

const word = (value: bigint) => value.toString(16).padStart(64, "0");
