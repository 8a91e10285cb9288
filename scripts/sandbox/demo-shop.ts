/**
 * Owns: the demo shop, one tenant for each data folder, with an address, an endpoint at the receiver, money in its hot
 * wallet, and one new deposit under way at each start and whenever somebody comes in.
 *
 * What was done is stored before the next step. A step that was cut short is done again under the same idempotency
 * key, so there is one shop however often a start is killed.
 */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Sluice } from "../../src/sdk/client.ts";
import { SluiceError } from "../../src/sdk/errors.ts";
import type { EventType } from "../../src/sdk/types.ts";
import { readIfThere, writeWhole } from "../data-folder.mjs";
import type { Chain } from "./chain.ts";
import type { Receiver } from "./receiver.ts";

export const TOKEN = { symbol: "USDX", decimals: 6 } as const;
const NETWORK = "local";
const ACCOUNT = "customer-1";
const ETHER = 10n ** 18n;
const DOLLAR = 10n ** 6n;
const WALLET = { wei: 5n * ETHER, token: 5_000n * DOLLAR };
const OPENING = { wei: ETHER, token: 250n * DOLLAR };
const DEPOSIT_WEI = ETHER / 4n;
/** After that a deposit is no longer much to look at. */
const FRESH_FOR_MS = 10_000;
const EVENTS: EventType[] = [
  "deposit.pending",
  "deposit.dropped",
  "deposit.confirmed",
  "deposit.reverted",
  "deposit.settled",
  "withdrawal.updated",
  "account.debt_opened",
  "account.debt_cleared",
  "network.halted",
  "network.resumed",
  "webhook.test",
];

interface State {
  /** Names this shop's calls; a new one is a new shop. */
  readonly id: string;
  readonly token?: string;
  readonly tenantId?: string;
  readonly key?: string;
  readonly address?: string;
  readonly endpointId?: string;
  readonly walletFunded?: boolean;
  readonly opened?: boolean;
}

export interface DemoOptions {
  readonly folder: string;
  readonly serviceUrl: string;
  readonly receiverUrl: string;
  readonly chain: Chain;
  readonly receiver: Receiver;
}

export class DemoShop {
  readonly #options: DemoOptions;
  readonly #path: string;
  #state: State;
  #ready = false;
  #paidAt = 0;

  constructor(options: DemoOptions) {
    this.#options = options;
    this.#path = join(options.folder, "demo.json");
    const kept = readIfThere(this.#path);
    this.#state = kept === null ? fresh() : (JSON.parse(kept.toString("utf8")) as State);
  }

  /** Contract of the demo's token; null: not deployed yet. */
  get token(): string | null {
    return this.#state.token ?? null;
  }

  get tenantId(): string | null {
    return this.#state.tenantId ?? null;
  }

  /** The shop's API key once the shop can be looked at. */
  get key(): string | null {
    return this.#ready ? (this.#state.key ?? null) : null;
  }

  /** @throws SluiceError, NodeError: then it may be called again */
  async open(): Promise<void> {
    const { chain, receiver, receiverUrl } = this.#options;
    if (this.#state.key !== undefined && !(await this.#isKeyGood(this.#state.key))) {
      const { token } = this.#state;
      this.#state = { ...fresh(), ...(token === undefined ? {} : { token }) };
    }
    await this.#step("token", async () => ({ token: await chain.deployToken() }));
    await this.#step("key", async () => {
      const anonymous = new Sluice({ apiKey: null, baseUrl: this.#options.serviceUrl });
      const { tenant, api_key } = await anonymous.tenants.create({ name: "Demo shop" }, this.#named("shop"));
      return { tenantId: tenant.id, key: given(api_key.secret, "the shop's key") };
    });
    const { token, key, tenantId } = this.#state;
    const shop = new Sluice({ apiKey: given(key, "a key"), baseUrl: this.#options.serviceUrl });
    const tenant = given(tenantId, "a tenant");
    const contract = given(token, "a token");
    const url = receiverUrl + receiver.pathOf(tenant);

    await this.#step("endpointId", async () => {
      const endpoint = await shop.webhookEndpoints.create({ url, events: EVENTS }, this.#named("endpoint"));
      // Repeated, the answer has no secret any more: the one that had it was lost.
      const secret = endpoint.secret ?? (await shop.webhookEndpoints.rotateSecret(endpoint.id)).secret;
      receiver.addSecret(tenant, endpoint.id, given(secret, "the endpoint's secret"));
      return { endpointId: endpoint.id };
    });
    await this.#step("address", async () => {
      await shop.assets.create({ network: NETWORK, contract, symbol: TOKEN.symbol }, this.#named("asset"));
      const address = `0x${this.#state.id}`;
      await shop.addresses.create({ network: NETWORK, address, account: ACCOUNT }, this.#named("address"));
      return { address };
    });
    const address = given(this.#state.address, "an address");
    await this.#step("walletFunded", async () => {
      const wallets = (await shop.wallets.list().page()).data;
      const wallet = wallets.find(({ network }) => network === NETWORK);
      const to = given(wallet?.address, "a wallet on the local network");
      if ((await chain.balance(to)) < WALLET.wei) await chain.payEther(to, WALLET.wei);
      await chain.payToken(contract, to, WALLET.token);
      return { walletFunded: true };
    });
    await this.#step("opened", async () => {
      await chain.payEther(address, OPENING.wei);
      await chain.payToken(contract, address, OPENING.token);
      return { opened: true };
    });
    await this.#moveEndpoint(shop, url);
    this.#ready = true;
    await this.#pay(address, Date.now());
  }

  /** Somebody comes in: there is a deposit under way for them, the start's or a new one. @throws NodeError */
  async welcome(now: number): Promise<void> {
    if (now - this.#paidAt > FRESH_FOR_MS) await this.#pay(given(this.#state.address, "an address"), now);
  }

  async #pay(address: string, now: number): Promise<void> {
    this.#paidAt = now;
    await this.#options.chain.payEther(address, DEPOSIT_WEI);
  }

  /** The receiver is elsewhere when its port was taken by another program. */
  async #moveEndpoint(shop: Sluice, url: string): Promise<void> {
    const id = given(this.#state.endpointId, "an endpoint");
    try {
      const endpoint = await shop.webhookEndpoints.get(id);
      if (endpoint.url !== url) await shop.webhookEndpoints.update(id, { url });
    } catch (error) {
      // Somebody deleted it, as they may.
      if (!(error instanceof SluiceError) || error.code !== "not_found") throw error;
    }
  }

  async #isKeyGood(key: string): Promise<boolean> {
    try {
      await new Sluice({ apiKey: key, baseUrl: this.#options.serviceUrl }).tenant.get();
      return true;
    } catch (error) {
      if (error instanceof SluiceError && error.code === "unauthorized") return false;
      throw error;
    }
  }

  async #step(done: keyof State, work: () => Promise<Partial<State>>): Promise<void> {
    if (this.#state[done] !== undefined) return;
    this.#store(this.#state);
    this.#store({ ...this.#state, ...(await work()) });
  }

  #store(state: State): void {
    writeWhole(this.#path, `${JSON.stringify(state)}\n`);
    this.#state = state;
  }

  #named(what: string): { idempotencyKey: string } {
    return { idempotencyKey: `sandbox-${what}-${this.#state.id}` };
  }
}

function fresh(): State {
  return { id: randomBytes(20).toString("hex") };
}

function given<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`the service gave no ${what}`);
  return value;
}
