/**
 * A java-tron node over a chain in memory: what it answers to each path of its HTTP API, and how it fails.
 *
 * The shapes are those of recorded answers: blocks as in tronprotocol/documentation-en (`getblockbylatestnum`) and
 * tronprotocol/tronweb's reference (`getBlock`), infos as in TRON's developer documentation of
 * `gettransactioninfobyid` (a call of Nile, block 66985120), headers without transactions as of `getblock` with
 * `detail: false` (Nile, block 66987565), calls that revert with `result: true` and a message in hex, broadcasts as
 * java-tron's `BroadcastHexServlet` writes them. Fields that have their default are left out, as its JsonFormat does.
 */

import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { type Execution, type MadeBlock, type MinedTx, parseTx, Refusal, type SignedTx } from "./tron-block.ts";
import type { TronChain, Vm } from "./tron-chain.ts";

export type Json = Record<string, unknown>;
type Fault = (body: Json, honest: () => Promise<unknown>) => unknown;

/** An exception of the node's own. */
export class NodeError extends Error {}

export class TronNodeDouble {
  chain: TronChain;
  readonly vm: Vm | null;
  /** Each path that was asked, in order. */
  readonly asked: string[] = [];
  /** Bytes of every transaction that came. */
  readonly sent: string[] = [];
  /** `vm.saveInternalTx` */
  savesInternal = true;
  /** Blocks at the top that it does not have. */
  lag = 0;
  /** Solid blocks at the top whose infos it does not have. */
  infosLag = 0;
  down = false;
  /** In place of every answer. */
  respond: ((path: string, honest: () => Promise<Response>) => Response | Promise<Response>) | null = null;
  headers: Headers | null = null;
  urls: string[] = [];
  readonly #faults = new Map<string, Fault>();
  /** Ids of what was sent here: kept before anything is checked. */
  readonly #cache = new Set<string>();

  constructor(chain: TronChain, vm: Vm | null = null) {
    this.chain = chain;
    this.vm = vm;
  }

  /** Another answer on this path; null: the honest one. */
  on(path: string, fault: Fault | null): void {
    if (fault === null) this.#faults.delete(path);
    else this.#faults.set(path, fault);
  }

  /** In place of the global one. */
  readonly fetch: typeof fetch = async (input: unknown, init?: RequestInit) => {
    if (this.down) throw new TypeError("fetch failed");
    const { pathname, href } = new URL(String(input));
    this.urls.push(href);
    this.headers = new Headers(init?.headers);
    const [, path] = /((?:wallet|walletsolidity)\/\w+)$/.exec(pathname) ?? [];
    if (path === undefined) return new Response("", { status: 404 });
    this.asked.push(path);
    const honest = async () => this.#answer(path, JSON.parse(String(init?.body)) as Json);
    return this.respond === null ? honest() : this.respond(path, honest);
  };

  async #answer(path: string, body: Json): Promise<Response> {
    const honest = () => this.honest(path, body);
    const fault = this.#faults.get(path);
    try {
      return Response.json(await (fault === undefined ? honest() : fault(body, honest)));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      return Response.json({ Error: error.message });
    }
  }

  async honest(path: string, body: Json): Promise<unknown> {
    const [state, method] = path.split("/");
    const view = this.#view(state === "walletsolidity");
    switch (method) {
      case "getnowblock":
        return blockJson(view.at(view.top), true);
      case "getblock":
        return body.id_or_num === undefined
          ? blockJson(view.at(view.top), body.detail === true)
          : view.has(Number(body.id_or_num))
            ? blockJson(view.at(Number(body.id_or_num)), body.detail === true)
            : {};
      case "gettransactioninfobyblocknum": {
        const height = Number(body.num);
        if (!view.has(height) || height > view.top - this.infosLag) return [];
        const block = view.at(height);
        return block.txs.map((tx) => infoJson(block, tx, this.savesInternal));
      }
      case "gettransactioninfobyid": {
        const found = view.find(String(body.value));
        return found === null ? {} : infoJson(found.block, found.tx, this.savesInternal);
      }
      case "gettransactionbyid": {
        const found = view.find(String(body.value));
        const waiting = state === "wallet" ? this.chain.pool.find(({ txId }) => txId === body.value) : undefined;
        if (found !== null) return txJson(found.tx);
        return waiting === undefined ? {} : txJson({ ...waiting, outcome: "SUCCESS" });
      }
      case "getaccount":
        return accountJson(view.at(view.top), String(body.address));
      case "getaccountresource":
        return resourceJson(view.at(view.top), String(body.address));
      case "getchainparameters":
        return { chainParameter: Object.entries(this.chain.parameters).map(([key, value]) => ({ key, value })) };
      case "triggerconstantcontract":
        return this.#call(body);
      case "broadcasthex":
        return this.#broadcast(String(body.transaction));
      default:
        throw new NodeError(`class java.lang.Exception : no such path ${path}`);
    }
  }

  #view(isSolid: boolean) {
    const { chain, lag } = this;
    const top = Math.max(0, (isSolid ? chain.solid : chain.head).height - lag);
    return {
      top,
      has: (height: number) => height <= top && chain.has(height),
      at: (height: number) => chain.at(height),
      find: (txId: string) => {
        const found = chain.find(txId);
        return found !== null && found.block.height <= top ? found : null;
      },
    };
  }

  async #call(body: Json): Promise<unknown> {
    const to = String(body.contract_address).slice(2);
    if (this.vm === null || !this.vm.has(to))
      return { result: { code: "CONTRACT_VALIDATE_ERROR", message: hexOf("Smart contract is not exist.") } };
    const from = String(body.owner_address).slice(2);
    return callJson(await this.vm.call({ from, to, value: 0n, data: String(body.data) }));
  }

  #broadcast(bytes: string): unknown {
    this.sent.push(bytes);
    const tx = parseTx(bytes);
    const answer = (code: string, message: string) => ({
      ...(code === "SUCCESS" ? { result: true } : { result: false }),
      code,
      message,
      transaction: JSON.stringify(txJson({ ...tx, outcome: "" })),
      txid: tx.txId,
    });
    if (this.#cache.has(tx.txId)) return answer("DUP_TRANSACTION_ERROR", "Transaction already exists.");
    this.#cache.add(tx.txId);
    try {
      this.chain.push(tx);
      return answer("SUCCESS", "");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return answer(error.code, error.message);
    }
  }
}

function blockJson(block: MadeBlock, detail: boolean): Json {
  const { height, id, parentId, timeMs, root, witness, txs } = block;
  return {
    blockID: id,
    block_header: {
      raw_data: {
        ...(height === 0 ? {} : { number: height, version: 36 }),
        txTrieRoot: root,
        witness_address: witness,
        parentHash: parentId,
        timestamp: timeMs,
      },
      witness_signature: "5b".repeat(65),
    },
    ...(detail && txs.length > 0 ? { transactions: txs.map(txJson) } : {}),
  };
}

function txJson({ txId, raw, data, signatures, outcome }: SignedTx & Pick<MinedTx, "outcome">): Json {
  const { contract } = data;
  const [type, value] =
    contract.kind === "transfer"
      ? ([
          "TransferContract",
          { amount: Number(contract.amountUnits), owner_address: contract.owner, to_address: contract.to },
        ] as const)
      : contract.kind === "trigger"
        ? ([
            "TriggerSmartContract",
            { data: contract.data, owner_address: contract.owner, contract_address: contract.contract },
          ] as const)
        : (["TransferAssetContract", {}] as const);
  return {
    ret: outcome === "" ? [] : [{ contractRet: outcome }],
    signature: signatures,
    txID: txId,
    raw_data: {
      contract: [{ parameter: { value, type_url: `type.googleapis.com/protocol.${type}` }, type }],
      ref_block_bytes: data.refBlockBytes,
      ref_block_hash: data.refBlockHash,
      expiration: data.expiration,
      ...(data.feeLimitUnits > 0n ? { fee_limit: Number(data.feeLimitUnits) } : {}),
      timestamp: data.timestamp,
    },
    raw_data_hex: raw,
  };
}

function infoJson(
  { height, timeMs }: MadeBlock,
  { txId, data, fee, execution, outcome }: MinedTx,
  internal: boolean,
): Json {
  const total = Number(fee.netFee + fee.createFee + fee.energyFee);
  const net = { ...nonZero("net_usage", fee.netUsage), ...nonZero("net_fee", Number(fee.netFee)) };
  const common = { id: txId, ...nonZero("fee", total), blockNumber: height, blockTimeStamp: timeMs };
  if (execution === null) return { ...common, contractResult: [""], receipt: net };
  const isFailed = outcome !== "SUCCESS";
  const shown = internal && execution.internal !== undefined && execution.internal.length > 0;
  return {
    ...common,
    contractResult: [execution.returned],
    ...(data.contract.kind === "trigger" ? { contract_address: data.contract.contract } : {}),
    receipt: {
      ...nonZero("energy_usage", fee.energyUsage),
      ...nonZero("energy_fee", Number(fee.energyFee)),
      energy_usage_total: Math.ceil(execution.energy),
      ...net,
      result: outcome,
    },
    ...(isFailed ? { result: "FAILED", resMessage: hexOf(`${outcome} opcode executed`) } : {}),
    ...(execution.logs.length > 0 && !isFailed ? { log: execution.logs } : {}),
    ...(shown ? { internal_transactions: execution.internal } : {}),
  };
}

function callJson({ outcome, energy, returned }: Execution): Json {
  const isFailed = outcome !== "SUCCESS";
  return {
    result: { result: true, ...(isFailed ? { message: hexOf(`${outcome} opcode executed`) } : {}) },
    energy_used: energy,
    constant_result: [returned],
    transaction: { ret: [isFailed ? { ret: "FAILED" } : {}], visible: false, raw_data: {}, raw_data_hex: "" },
  };
}

function accountJson({ accounts }: MadeBlock, address: string): Json {
  const account = accounts.get(address.slice(2));
  return account === undefined
    ? {}
    : { address, ...nonZero("balance", Number(account.balance)), create_time: 1_700_000_000_000 };
}

function resourceJson({ accounts }: MadeBlock, address: string): Json {
  const account = accounts.get(address.slice(2));
  if (account === undefined) return {};
  return {
    ...nonZero("freeNetUsed", account.freeBytesUsed),
    freeNetLimit: 600,
    TotalNetLimit: 43_200_000_000,
    TotalNetWeight: 26_982_826_755,
    ...nonZero("EnergyUsed", account.energyUsed),
    ...nonZero("EnergyLimit", account.energy),
    TotalEnergyLimit: 180_000_000_000,
    TotalEnergyWeight: 19_199_584_148,
  };
}

function nonZero(name: string, value: number): Json {
  return value === 0 ? {} : { [name]: value };
}

function hexOf(text: string): string {
  return bytesToHex(utf8ToBytes(text));
}
