/**
 * A TRON chain in memory: blocks of witnesses every three seconds, solid or not yet, and the rules by which a node takes
 * a transaction or a block holds one (java-tron's `Wallet.broadcastTransaction` and `Manager.pushTransaction`): the
 * signature, the reference block, the expiration, each id once, what the sender can pay for.
 */

import { ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { encodeRawData, type RawData } from "../../src/chains/tron/raw-data.ts";
import { tronHex } from "../../src/core/tron-address.ts";
import {
  type Account,
  type Execution,
  idOf,
  MAIN_GENESIS,
  type MadeBlock,
  type MinedTx,
  madeBlock,
  newAccount,
  ownerOf,
  parseTx,
  Refusal,
  type SignedTx,
  signerOf,
  Wallet,
} from "./tron-block.ts";
import { bandwidthOf, PARAMETERS, settle } from "./tron-costs.ts";

export const BLOCK_MS = 3_000;
const GENESIS_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const RECENT_BLOCKS = 65_536;

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
          txs.push(settle(tx, accounts, executions.get(tx.txId) ?? null, this.parameters));
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
    const { netFee, createFee } = bandwidthOf(tx, account, accounts, this.parameters);
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
}
