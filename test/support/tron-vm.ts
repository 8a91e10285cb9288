/**
 * TRON's virtual machine by proxy: contracts live in an anvil, under the same 20 bytes, and calls run there. Energy is
 * anvil's gas. What contracts send on is shown as java-tron shows it, from anvil's traces.
 */

import { type Anvil, type Hex, startAnvil } from "./anvil.ts";
import { type Contract, type ContractName, deploy } from "./tokens.ts";
import type { Execution } from "./tron-block.ts";
import type { ContractCall, Vm } from "./tron-chain.ts";

const GAS = "0x989680";
const RICH = "0xffffffffffffffffffffff";

interface Frame {
  readonly type: string;
  readonly from: Hex;
  readonly to?: Hex;
  readonly value?: Hex;
  readonly error?: string;
  readonly calls?: readonly Frame[];
}

export interface TronVm extends Vm {
  readonly anvil: Anvil;
  deploy(name: ContractName, args: readonly unknown[]): Promise<Contract>;
  stop(): Promise<void>;
}

export async function startTronVm(): Promise<TronVm> {
  const anvil = await startAnvil(["--auto-impersonate", "--gas-price", "0", "--block-base-fee-per-gas", "0"]);
  const contracts = new Set<string>();

  async function requestOf({ from, to, value, data }: ContractCall) {
    await anvil.rpc("anvil_setBalance", [`0x${from}`, RICH]);
    return {
      from: `0x${from}`,
      to: `0x${to}`,
      value: `0x${value.toString(16)}`,
      data: `0x${data}`,
      gas: GAS,
      gasPrice: "0x0",
    };
  }

  async function call(one: ContractCall): Promise<Execution> {
    const request = await requestOf(one);
    try {
      const returned = await anvil.rpc<Hex>("eth_call", [request, "latest"]);
      const energy = Number(await anvil.rpc<Hex>("eth_estimateGas", [request]));
      return { outcome: "SUCCESS", energy, returned: returned.slice(2), logs: [] };
    } catch (error) {
      if (!/revert/i.test(String(error))) throw error;
      return { outcome: "REVERT", energy: 1_984, returned: "", logs: [] };
    }
  }

  return {
    anvil,
    has: (contract) => contracts.has(contract),
    async deploy(name, args) {
      const contract = await deploy(anvil, name, args);
      contracts.add(contract.address.slice(2));
      return contract;
    },
    call,
    async execute(one) {
      const { returned } = await call(one);
      const hash = await anvil.rpc<Hex>("eth_sendTransaction", [await requestOf(one)]);
      const receipt = await anvil.receipt(hash);
      const trace = await anvil.rpc<Frame>("debug_traceTransaction", [hash, { tracer: "callTracer" }]);
      const { gasUsed } = receipt as unknown as { readonly gasUsed: Hex };
      return {
        outcome: receipt.status === "0x1" ? "SUCCESS" : "REVERT",
        energy: Number(gasUsed),
        returned,
        logs: receipt.logs.map(({ address, topics, data }) => ({
          address: address.slice(2).toLowerCase(),
          topics: topics.map((topic) => topic.slice(2)),
          data: data.slice(2),
        })),
        internal: internalOf(trace.calls ?? [], false),
      };
    },
    stop: () => anvil.stop(),
  };
}

/** Every call in a call, in order; those of a frame that failed are rejected. */
function internalOf(frames: readonly Frame[], isRejected: boolean): unknown[] {
  return frames.flatMap((frame) => {
    const rejected = isRejected || frame.error !== undefined;
    const nested = internalOf(frame.calls ?? [], rejected);
    if (frame.type === "DELEGATECALL" || frame.type === "STATICCALL") return nested;
    const value = Number(frame.value ?? 0);
    const one = {
      hash: "da".repeat(32),
      caller_address: `41${frame.from.slice(2)}`,
      transferTo_address: `41${(frame.to ?? frame.from).slice(2)}`,
      callValueInfo: [value === 0 ? {} : { callValue: value }],
      note: Buffer.from(frame.type === "SELFDESTRUCT" ? "suicide" : frame.type.toLowerCase()).toString("hex"),
      ...(rejected ? { rejected: true } : {}),
    };
    return [one, ...nested];
  });
}
