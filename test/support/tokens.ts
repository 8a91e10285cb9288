/**
 * Compiled contracts for tests, and how to deploy and call them. Compiled once in a test file's process.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type Abi, decodeFunctionResult, encodeDeployData, encodeFunctionData } from "viem";
import type { Chain, Hex, Receipt } from "./anvil.ts";

export type ContractName =
  | "Token"
  | "QuietToken"
  | "MoodyToken"
  | "FeeToken"
  | "OddToken"
  | "Nft"
  | "Distributor"
  | "Payer"
  | "SelfDestructPayer";

export interface Contract {
  /** Lower case. */
  readonly address: Hex;
  /**
   * Calls a function in a transaction and waits for its block. A failing one is mined too: look at
   * the receipt's `status`.
   * @param value wei sent along
   */
  send(name: string, args: readonly unknown[], value?: bigint): Promise<Receipt>;
  /** The calldata alone, to be sent in another way. */
  encode(name: string, args: readonly unknown[]): Hex;
  /** Asks without a transaction. */
  read<T>(name: string, args: readonly unknown[]): Promise<T>;
}

/** Given instead of estimated, so that a transaction that will revert is mined as well. */
const GAS = 10_000_000n;

/** Deploys from anvil's first account. */
export async function deploy(
  chain: Chain,
  name: ContractName,
  args: readonly unknown[],
  value = 0n,
): Promise<Contract> {
  const { abi, bytecode } = compiled(name);
  const receipt = await chain.receipt(
    await chain.send({ data: encodeDeployData({ abi, bytecode, args }), gas: GAS, value }),
  );
  if (receipt.contractAddress === null || receipt.status !== "0x1")
    throw new Error(`${name} was not deployed: ${JSON.stringify(receipt)}`);
  return contractAt(chain, name, receipt.contractAddress);
}

export function contractAt(chain: Chain, name: ContractName, address: Hex): Contract {
  const { abi } = compiled(name);
  const encode = (functionName: string, args: readonly unknown[]) => encodeFunctionData({ abi, functionName, args });
  return {
    address: address.toLowerCase() as Hex,
    encode,
    send: async (functionName, args, value = 0n) =>
      chain.receipt(await chain.send({ to: address, data: encode(functionName, args), value, gas: GAS })),
    async read<T>(functionName: string, args: readonly unknown[]) {
      const data = await chain.rpc<Hex>("eth_call", [{ to: address, data: encode(functionName, args) }, "latest"]);
      return decodeFunctionResult({ abi, functionName, data }) as T;
    },
  };
}

interface Compiled {
  readonly abi: Abi;
  readonly bytecode: Hex;
}

let artifacts: Readonly<Record<string, Compiled>> | null = null;

function compiled(name: ContractName): Compiled {
  artifacts ??= compile();
  const found = artifacts[name];
  if (found === undefined) throw new Error(`contracts.sol has no contract ${name}`);
  return found;
}

function compile(): Record<string, Compiled> {
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const source = readFileSync(fileURLToPath(new URL("contracts.sol", import.meta.url)), "utf8");
  const input = {
    language: "Solidity",
    sources: { "contracts.sol": { content: source } },
    settings: { evmVersion: "paris", outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as {
    errors?: { severity: string; formattedMessage: string }[];
    contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
  };
  const errors = output.errors?.filter(({ severity }) => severity === "error") ?? [];
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return Object.fromEntries(
    Object.entries(output.contracts["contracts.sol"] ?? {}).map(([name, { abi, evm }]) => [
      name,
      { abi, bytecode: `0x${evm.bytecode.object}` as const },
    ]),
  );
}
