/**
 * Owns: what is done to the local chain by hand: payments, blocks, reorganisations. One after the other, so that no
 * payment falls into a reorganisation, and a reorganisation is stored before it is answered.
 */

import demoToken from "./demo-token.json" with { type: "json" };
import { type Node, NodeError, quantity } from "./rpc.ts";

/** anvil's last account, unlocked and rich: whoever plays with the others does not meet the sandbox. */
const PAYER = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720";
const ETHER = 10n ** 18n;
const PAYER_OWNS = 1_000_000n * ETHER;
/** Below this many blocks nothing is reorganised: the service follows 20 blocks back on this network. */
export const DEEPEST = 15;
export const MOST_BLOCKS = 100;
/** Of one payment. */
export const MOST_ETHER = 10_000n * ETHER;
const TOKEN_GAS = 1_500_000n;
const TRANSFER_GAS = 120_000n;
const RECEIPT_WITHIN_MS = 5_000;
/** The first four bytes of keccak-256 of `mint(address,uint256)`. */
const MINT = "0x40c10f19";

export interface ChainOptions {
  readonly node: Node;
  /** Runs while nobody else mines, lets nobody else send, and stores the chain afterwards. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
}

export class Chain {
  readonly #node: Node;
  readonly #alone: ChainOptions["alone"];
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ node, alone }: ChainOptions) {
    this.#node = node;
    this.#alone = alone;
  }

  async height(): Promise<number> {
    return Number(await this.#node<string>("eth_blockNumber"));
  }

  async balance(address: string): Promise<bigint> {
    return BigInt(await this.#node<string>("eth_getBalance", address, "latest"));
  }

  /** Whether the state after a block is still there: without it nothing can be put in the place of what follows. */
  async hasStateAt(height: number): Promise<boolean> {
    try {
      await this.#node("eth_getBalance", PAYER, quantity(height));
      return true;
    } catch (error) {
      if (error instanceof NodeError && error.cause === undefined) return false;
      throw error;
    }
  }

  payEther(to: string, wei: bigint): Promise<string> {
    return this.#inTurn(async () => {
      await this.#topUp(wei);
      return this.#send({ to, value: quantity(wei) });
    });
  }

  payToken(contract: string, to: string, units: bigint): Promise<string> {
    const data = `${MINT}${word(BigInt(to))}${word(units)}`;
    return this.#inTurn(() => this.#send({ to: contract, data, gas: quantity(TRANSFER_GAS) }));
  }

  mine(blocks: number): Promise<number> {
    return this.#inTurn(async () => {
      await this.#node("anvil_mine", quantity(blocks));
      return this.height();
    });
  }

  /** Deploys the token, so deep that no reorganisation of the sandbox takes it away. */
  deployToken(): Promise<string> {
    return this.#inTurn(async () => {
      const hash = await this.#send({ data: demoToken.creationCode, gas: quantity(TOKEN_GAS) });
      const { contractAddress, status } = await this.#receipt(hash);
      if (contractAddress === null || status !== "0x1") throw new NodeError("The demo token was not deployed.");
      await this.#node("anvil_mine", quantity(DEEPEST + 1));
      return contractAddress.toLowerCase();
    });
  }

  async hasCode(address: string): Promise<boolean> {
    return (await this.#node<string>("eth_getCode", address, "latest")) !== "0x";
  }

  /**
   * Replaces the last blocks by as many empty ones and one more, since only a longer branch replaces another. With
   * `remine` the transactions of the old blocks are in that last one; otherwise they are gone.
   */
  reorganise(depth: number, remine: boolean): Promise<number> {
    return this.#inTurn(() =>
      this.#alone(async () => {
        const raws = remine ? await this.#transactionsOfLast(depth) : [];
        const automine = await this.#node<boolean>("anvil_getAutomine");
        await this.#node("evm_setAutomine", false);
        try {
          await this.#node("anvil_reorg", depth, []);
          await this.#topUp(MOST_ETHER);
          // What the other chain does not take is gone, as it would be elsewhere.
          for (const raw of raws) await this.#node("eth_sendRawTransaction", raw).catch(passOver);
          await this.#node("anvil_mine", "0x1");
        } finally {
          await this.#node("evm_setAutomine", automine);
        }
        return this.height();
      }),
    );
  }

  async #transactionsOfLast(depth: number): Promise<string[]> {
    const head = await this.height();
    const raws: string[] = [];
    for (let height = head - depth + 1; height <= head; height++) {
      const block = await this.#node<{ transactions: string[] } | null>(
        "eth_getBlockByNumber",
        quantity(height),
        false,
      );
      for (const hash of block?.transactions ?? []) raws.push(await this.#node("eth_getRawTransactionByHash", hash));
    }
    return raws;
  }

  /** What the payer was given before may be gone with the blocks that were replaced. */
  async #topUp(wei: bigint): Promise<void> {
    if ((await this.balance(PAYER)) < wei + ETHER)
      await this.#node("anvil_setBalance", PAYER, quantity(PAYER_OWNS + wei));
  }

  #send(fields: Readonly<Record<string, string>>): Promise<string> {
    return this.#node("eth_sendTransaction", { from: PAYER, ...fields });
  }

  async #receipt(hash: string): Promise<{ contractAddress: string | null; status: string }> {
    const until = Date.now() + RECEIPT_WITHIN_MS;
    for (;;) {
      const receipt = await this.#node<{ contractAddress: string | null; status: string } | null>(
        "eth_getTransactionReceipt",
        hash,
      );
      if (receipt !== null) return receipt;
      if (Date.now() > until) throw new NodeError("The chain does not mine: was mining switched off?");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }
}

/** @throws Error when the node did not answer at all */
function passOver(error: unknown): void {
  if (!(error instanceof NodeError) || error.cause !== undefined) throw error;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}
