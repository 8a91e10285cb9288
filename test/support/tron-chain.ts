/**
 * A TRON chain in memory: blocks of witnesses every three seconds, solid or not yet, and the rules by which a node takes
 * a transaction or a block holds one (java-tron's `Wallet.broadcastTransaction` and `Manager.pushTransaction`): the
 * signature, the reference block, the expiration, each id once, what the sender can pay for.
 *
 * Bandwidth and energy are modelled by their prices alone: 600 free bytes for each account, once; staked energy as given.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha2";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { ProtobufMessage, ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { decodeRawData, encodeRawData, type RawData } from "../../src/chains/tron/raw-data.ts";
import { tronAddress, tronHex } from "../../src/core/tron-address.ts";

export const BLOCK_MS = 3_000;
const GENESIS_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const RECENT_BLOCKS = 65_536;
const FREE_BYTES = 600;
/** What a result may add to a transaction's size. */
const RESULT_BYTES = 64;
const NOTHING = "0".repeat(64);
/** The main chain's first block, whose header has the id that the chain is named by. */
const MAIN_GENESIS = {
  height: 0,
  id: "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc",
  parentId: "e58f33f9baf9305dc6f82b9f1934ea8f0ade2defb951258d50167028c780351f",
  root: "8ef446bf3f395af929c218014f6101ec86576c5f61b2ae3236bf3a2ab5e2fecd",
  witness: Buffer.from(
    "A new system must allow existing systems to be linked together without requiring any central control or coordination",
  ).toString("hex"),
  timeMs: 0,
  txs: [],
} as const;

/** Names and values as `getchainparameters` gives them on the main chain. */
export const PARAMETERS: Readonly<Record<string, number>> = {
  getMaintenanceTimeInterval: 21_600_000,
  getCreateAccountFee: 100_000,
  getTransactionFee: 1_000,
  getCreateNewAccountFeeInSystemContract: 1_000_000,
  getEnergyFee: 100,
  getMaxFeeLimit: 15_000_000_000,
  getMemoFee: 1_000_000,
  getForbidTransferToContract: 1,
};

export interface TronLogJson {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** What a contract's execution did. */
export interface Execution {
  readonly outcome: "SUCCESS" | "REVERT" | "OUT_OF_ENERGY";
  readonly energy: number;
  /** Hex. */
  readonly returned: string;
  readonly logs: readonly TronLogJson[];
  /** As `internal_transactions` shows them. */
  readonly internal?: readonly unknown[];
}

export interface ContractCall {
  /** 20 bytes, hex. */
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly data: string;
}

/** What runs contracts. */
export interface Vm {
  has(contract: string): boolean;
  execute(call: ContractCall): Promise<Execution>;
  /** Without effect. */
  call(call: ContractCall): Promise<Execution>;
}

export interface SignedTx {
  readonly txId: string;
  readonly raw: string;
  readonly data: RawData;
  readonly signatures: readonly string[];
  /** As it was sent, hex. */
  readonly bytes: string;
}

export interface MinedTx extends SignedTx {
  readonly outcome: string;
  readonly fee: Fee;
  readonly execution: Execution | null;
}

interface Fee {
  readonly netUsage: number;
  readonly netFee: bigint;
  readonly createFee: bigint;
  readonly energyUsage: number;
  readonly energyFee: bigint;
}

export interface Account {
  balance: bigint;
  freeBytesUsed: number;
  /** Energy that stake gives, and what of it is used. */
  energy: number;
  energyUsed: number;
}

export interface MadeBlock {
  readonly height: number;
  readonly id: string;
  readonly parentId: string;
  readonly timeMs: number;
  readonly root: string;
  readonly witness: string;
  readonly txs: readonly MinedTx[];
  /** Accounts after it, by 20 bytes in hex. */
  readonly accounts: ReadonlyMap<string, Account>;
}

/** Why a node does not take a transaction, by the names of `Return.response_code`. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export class Wallet {
  readonly hex: string;
  readonly address: string;
  readonly #key: Uint8Array;

  constructor(seed: string) {
    this.#key = sha256(new TextEncoder().encode(`tron test wallet ${seed}`));
    this.hex = bytesToHex(keccak_256(secp256k1.getPublicKey(this.#key, false).subarray(1)).subarray(-20));
    this.address = tronAddress(this.hex);
  }

  sign(raw: string): string {
    const signature = secp256k1.sign(sha256(hexToBytes(raw)), this.#key);
    return signature.toCompactHex() + (signature.recovery + 27).toString(16);
  }
}

export class TronChain {
  readonly faucet = new Wallet("faucet");
  /** Blocks below the head that are not solid yet. */
  unsolid = 0;
  readonly parameters: Record<string, number> = { ...PARAMETERS };
  #blocks: MadeBlock[];
  #pool: SignedTx[] = [];
  #salt = 0;
  /** The time of the first block is counted from here. */
  #beginMs = GENESIS_MS;

  constructor(salt = "") {
    const accounts = new Map([[this.faucet.hex, newAccount(10n ** 16n)]]);
    this.#blocks = [madeBlock({ height: 0, parentId: idOf(0, `genesis ${salt}`), timeMs: GENESIS_MS, accounts })];
  }

  static grown(blocks: number): TronChain {
    const chain = new TronChain();
    chain.mine(blocks);
    return chain;
  }

  /** A chain that begins as the main chain does, and goes on from a time of its own. */
  static main(beginMs: number): TronChain {
    const chain = new TronChain();
    chain.#beginMs = beginMs;
    chain.#blocks = [{ ...MAIN_GENESIS, accounts: chain.head.accounts }];
    return chain;
  }

  get head(): MadeBlock {
    return this.at(this.#blocks.length - 1);
  }

  get solid(): MadeBlock {
    return this.at(Math.max(0, this.#blocks.length - 1 - this.unsolid));
  }

  get pool(): readonly SignedTx[] {
    return this.#pool;
  }

  at(height: number): MadeBlock {
    const block = this.#blocks[height];
    if (block === undefined) throw new Error(`the chain has no block ${height}`);
    return block;
  }

  has(height: number): boolean {
    return height in this.#blocks;
  }

  find(txId: string): { readonly block: MadeBlock; readonly tx: MinedTx } | null {
    for (const block of this.#blocks) for (const tx of block.txs) if (tx.txId === txId) return { block, tx };
    return null;
  }

  account(hex: string): Account {
    return { ...(this.head.accounts.get(hex) ?? newAccount(0n)) };
  }

  /** The same blocks without the last ones. */
  fork(without: number): TronChain {
    const other = new TronChain();
    other.unsolid = this.unsolid;
    other.#beginMs = this.#beginMs;
    other.#salt = this.#salt + 1_000;
    other.#blocks = this.#blocks.slice(0, this.#blocks.length - without);
    return other;
  }

  /** Raw data with the newest solid block for reference, good for a minute. */
  rawData(contract: RawData["contract"], over: Partial<RawData> = {}): RawData {
    const { id, height } = this.solid;
    return {
      refBlockBytes: (height & 0xffff).toString(16).padStart(4, "0"),
      refBlockHash: id.slice(16, 32),
      expiration: this.head.timeMs + 60_000,
      data: "",
      contract,
      permissionId: 0,
      timestamp: this.head.timeMs + ++this.#salt,
      feeLimitUnits: contract.kind === "trigger" ? 100_000_000n : 0n,
      ...over,
    };
  }

  signed(by: Wallet, data: RawData): SignedTx {
    const raw = encodeRawData(data);
    return parseTx(new ProtobufWriter().always(1, raw).always(2, by.sign(raw)).hex());
  }

  /** TRX, for the next block, whoever could pay for it. */
  pay(to: string, units: bigint, over: Partial<RawData> = {}, by: Wallet = this.faucet): SignedTx {
    const contract = { kind: "transfer", owner: `41${by.hex}`, to: `41${tronHex(to)}`, amountUnits: units } as const;
    return this.put(this.signed(by, this.rawData(contract, over)));
  }

  /** A call of a contract, for the next block. @param contract 20 bytes, hex */
  trigger(by: Wallet, contract: string, data: string, over: Partial<RawData> = {}, value = 0n): SignedTx {
    return this.put(
      this.signed(
        by,
        this.rawData(
          {
            kind: "trigger",
            owner: `41${by.hex}`,
            contract: `41${contract}`,
            callValueUnits: value,
            data,
            tokenId: 0n,
            callTokenUnits: 0n,
          },
          over,
        ),
      ),
    );
  }

  /** Into the pool, unchecked: what a witness may have been sent by others. */
  put(tx: SignedTx): SignedTx {
    this.#pool.push(tx);
    return tx;
  }

  /** As a node takes what it is sent; what another node has passed on waits already. @throws Refusal */
  push(tx: SignedTx): void {
    this.check(tx, this.head.accounts);
    if (!this.#pool.some(({ txId }) => txId === tx.txId)) this.#pool.push(tx);
  }

  /** Nothing waits any more. */
  forget(): void {
    this.#pool = [];
  }

  /**
   * So many blocks, of which the first holds whatever waits and may be held.
   * @param executions of the contract calls that wait
   * @param missed slots in which no witness made a block
   */
  mine(count = 1, executions: ReadonlyMap<string, Execution> = new Map(), missed = 0): void {
    for (let i = 0; i < count; i++) {
      const parent = this.head;
      const accounts = new Map([...parent.accounts].map(([hex, account]) => [hex, { ...account }]));
      const txs: MinedTx[] = [];
      for (const tx of this.#pool.splice(0)) {
        try {
          this.check(tx, accounts, txs);
          txs.push(this.#settle(tx, accounts, executions.get(tx.txId) ?? null));
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
        }
      }
      const timeMs = (parent.height === 0 ? this.#beginMs : parent.timeMs) + BLOCK_MS * (1 + (i === 0 ? missed : 0));
      const witness = idOf(parent.height, `witness ${this.#salt++}`).slice(-40);
      this.#blocks.push(madeBlock({ height: parent.height + 1, parentId: parent.id, timeMs, txs, accounts, witness }));
    }
  }

  /** The same, and the virtual machine runs what calls contracts. */
  async mineWith(vm: Vm, count = 1): Promise<void> {
    const executions = new Map<string, Execution>();
    const seen = new Set<string>();
    // What comes while a contract runs is in the block too.
    for (let tx = this.#pool[0]; tx !== undefined; tx = this.#pool.find(({ txId }) => !seen.has(txId))) {
      seen.add(tx.txId);
      // No block holds it, so nothing of it may happen.
      if (tx.data.expiration <= this.head.timeMs || this.find(tx.txId) !== null) continue;
      const execution = await this.#execute(vm, tx.data);
      if (execution !== null) executions.set(tx.txId, execution);
    }
    this.mine(count, executions);
  }

  async #execute(vm: Vm, { contract, feeLimitUnits }: RawData): Promise<Execution | null> {
    if (contract.kind !== "trigger") return null;
    const { data, callValueUnits: value } = contract;
    const call = { from: contract.owner.slice(2), to: contract.contract.slice(2), value, data };
    const wanted = await vm.call(call);
    // Out of energy in the middle of it, nothing of it has happened.
    const most = Number(feeLimitUnits) / (this.parameters.getEnergyFee ?? 0);
    if (wanted.outcome !== "SUCCESS") return wanted;
    if (wanted.energy > most) return { outcome: "OUT_OF_ENERGY", energy: most, returned: "", logs: [] };
    return vm.execute(call);
  }

  /** Takes blocks off and mines one more than these in their place; their transactions are gone, but for those kept. */
  reorg(depth: number, keep: readonly SignedTx[] = []): void {
    const kept = new Map(keep.map(({ txId }) => [txId, this.find(txId)?.tx.execution ?? undefined] as const));
    this.#blocks.splice(this.#blocks.length - depth);
    this.#pool = [...keep];
    this.mine(depth + 1, new Map([...kept].flatMap(([txId, execution]) => (execution ? [[txId, execution]] : []))));
  }

  /** @throws Refusal, in java-tron's words */
  check(tx: SignedTx, accounts: ReadonlyMap<string, Account>, together: readonly SignedTx[] = []): void {
    const { data, txId } = tx;
    const { contract } = data;
    const owner = ownerOf(data);
    if (!tx.signatures.every((signature) => signature.length === 130))
      throw new Refusal("SIGERROR", "Validate signature error: Signature size is wrong");
    if (signerOf(tx) !== owner)
      throw new Refusal(
        "SIGERROR",
        `Validate signature error: ${txId} is signed by ${signerOf(tx)} but it is not contained of permission.`,
      );
    const reference = this.#referenceOf(data.refBlockBytes);
    if (reference?.id.slice(16, 32) !== data.refBlockHash)
      throw new Refusal(
        "TAPOS_ERROR",
        `Tapos failed, different block hash, ${data.refBlockBytes}, ${data.refBlockHash}`,
      );
    const { timeMs } = this.head;
    if (data.expiration <= timeMs || data.expiration > timeMs + DAY_MS)
      throw new Refusal(
        "TRANSACTION_EXPIRATION_ERROR",
        `Transaction expiration, transaction expiration time is ${data.expiration}, but headBlockTime is ${timeMs}`,
      );
    if (this.find(txId) !== null || together.some((other) => other.txId === txId))
      throw new Refusal("DUP_TRANSACTION_ERROR", "Dup transaction.");
    const account = accounts.get(owner);
    if (account === undefined)
      throw new Refusal("CONTRACT_VALIDATE_ERROR", "Contract validate error : account not exists");
    const { netFee, createFee } = this.#net(tx, account, accounts);
    if (account.balance < netFee) throw new Refusal("BANDWITH_ERROR", "Account resource insufficient error.");
    if (contract.kind === "transfer" && account.balance < contract.amountUnits + netFee + createFee)
      throw new Refusal(
        "CONTRACT_VALIDATE_ERROR",
        "Contract validate error : Validate TransferContract error, balance is not sufficient.",
      );
    if (contract.kind === "transfer" && (contract.amountUnits <= 0n || contract.to === contract.owner))
      throw new Refusal("CONTRACT_VALIDATE_ERROR", "Contract validate error : Amount must be greater than 0.");
  }

  #referenceOf(bytes: string): MadeBlock | undefined {
    const low = Number.parseInt(bytes, 16);
    const { height } = this.head;
    const newest = height - ((height - low) & 0xffff);
    return newest > height - RECENT_BLOCKS ? this.#blocks[newest] : undefined;
  }

  #net(tx: SignedTx, account: Account, accounts: ReadonlyMap<string, Account>): Omit<Fee, "energyUsage" | "energyFee"> {
    const { contract } = tx.data;
    const size = tx.bytes.length / 2 + RESULT_BYTES;
    const price = (name: string) => BigInt(this.parameters[name] ?? 0);
    if (contract.kind === "transfer" && !accounts.has(contract.to.slice(2)))
      return {
        netUsage: 0,
        netFee: price("getCreateAccountFee"),
        createFee: price("getCreateNewAccountFeeInSystemContract"),
      };
    if (account.freeBytesUsed + size <= FREE_BYTES) return { netUsage: size, netFee: 0n, createFee: 0n };
    return { netUsage: 0, netFee: BigInt(size) * price("getTransactionFee"), createFee: 0n };
  }

  #settle(tx: SignedTx, accounts: Map<string, Account>, execution: Execution | null): MinedTx {
    const { contract } = tx.data;
    const owner = accounts.get(ownerOf(tx.data)) ?? newAccount(0n);
    const net = this.#net(tx, owner, accounts);
    owner.balance -= net.netFee + net.createFee;
    owner.freeBytesUsed += net.netUsage;
    if (contract.kind === "transfer") {
      owner.balance -= contract.amountUnits;
      credit(accounts, contract.to.slice(2), contract.amountUnits);
      return { ...tx, outcome: "SUCCESS", fee: { ...net, energyUsage: 0, energyFee: 0n }, execution: null };
    }
    if (contract.kind !== "trigger")
      return { ...tx, outcome: "SUCCESS", fee: { ...net, energyUsage: 0, energyFee: 0n }, execution: null };
    if (execution === null) throw new Error(`nobody has executed ${tx.txId}`);
    const energyUsage = Math.min(execution.energy, owner.energy - owner.energyUsed);
    const energyFee = BigInt(Math.ceil(execution.energy - energyUsage)) * BigInt(this.parameters.getEnergyFee ?? 0);
    owner.energyUsed += energyUsage;
    owner.balance -= energyFee;
    if (execution.outcome === "SUCCESS" && contract.callValueUnits > 0n) {
      owner.balance -= contract.callValueUnits;
      credit(accounts, contract.contract.slice(2), contract.callValueUnits);
    }
    return { ...tx, outcome: execution.outcome, fee: { ...net, energyUsage, energyFee }, execution };
  }
}

export function parseTx(bytes: string): SignedTx {
  const message = ProtobufMessage.ofHex(bytes, "transaction");
  const raw = bytesToHex(message.message(1));
  const data = decodeRawData(raw);
  if (data === null) throw new Refusal("CONTRACT_VALIDATE_ERROR", "Contract validate error : No contract!");
  return { txId: bytesToHex(sha256(hexToBytes(raw))), raw, data, signatures: message.list(2).map(bytesToHex), bytes };
}

/** With everything that a block keeps of it. */
export function minedBytes({ raw, signatures, outcome }: Pick<MinedTx, "raw" | "signatures" | "outcome">): string {
  const writer = new ProtobufWriter().always(1, raw);
  for (const signature of signatures) writer.always(2, signature);
  return writer.always(5, new ProtobufWriter().number(3, CODES[outcome] ?? 0).hex()).hex();
}

const CODES: Readonly<Record<string, number>> = { SUCCESS: 1, REVERT: 2, OUT_OF_ENERGY: 10 };

function madeBlock(block: {
  readonly height: number;
  readonly parentId: string;
  readonly timeMs: number;
  readonly txs?: readonly MinedTx[];
  readonly accounts: ReadonlyMap<string, Account>;
  readonly witness?: string;
}): MadeBlock {
  const { txs = [], witness = "00".repeat(20) } = block;
  const root = rootOf(txs.map((tx) => bytesToHex(sha256(hexToBytes(minedBytes(tx))))));
  const header = new ProtobufWriter()
    .number(1, block.timeMs)
    .bytes(2, root)
    .bytes(3, block.parentId)
    .number(7, block.height)
    .bytes(9, `41${witness}`)
    .number(10, block.height === 0 ? 0 : 36)
    .hex();
  const id = block.height.toString(16).padStart(16, "0") + bytesToHex(sha256(hexToBytes(header))).slice(16);
  return { ...block, txs, witness: `41${witness}`, root, id };
}

/** A leaf without a neighbour goes up as it is. */
export function rootOf(leaves: readonly string[]): string {
  if (leaves.length < 2) return leaves[0] ?? NOTHING;
  const parents: string[] = [];
  for (let i = 0; i < leaves.length; i += 2) {
    const [left = "", right] = leaves.slice(i, i + 2);
    parents.push(right === undefined ? left : bytesToHex(sha256(hexToBytes(left + right))));
  }
  return rootOf(parents);
}

function idOf(height: number, text: string): string {
  return height.toString(16).padStart(16, "0") + bytesToHex(sha256(new TextEncoder().encode(text))).slice(16);
}

function newAccount(balance: bigint): Account {
  return { balance, freeBytesUsed: 0, energy: 0, energyUsed: 0 };
}

function credit(accounts: Map<string, Account>, hex: string, units: bigint): void {
  const account = accounts.get(hex) ?? newAccount(0n);
  account.balance += units;
  accounts.set(hex, account);
}

/** 20 bytes, hex. */
export function ownerOf({ contract }: RawData): string {
  return contract.kind === "other" ? "" : contract.owner.slice(2);
}

function signerOf({ txId, signatures: [signature = ""] }: SignedTx): string {
  try {
    const { r, s } = secp256k1.Signature.fromCompact(signature.slice(0, 128));
    const recovery = Number.parseInt(signature.slice(128), 16) - 27;
    const point = new secp256k1.Signature(r, s).addRecoveryBit(recovery).recoverPublicKey(txId);
    return bytesToHex(keccak_256(point.toRawBytes(false).subarray(1)).subarray(-20));
  } catch {
    return "nobody";
  }
}
