/**
 * A merchant and the people around it: signs up, then pays out (`payouts.ts`) and keeps house (`keys.ts`,
 * `addresses.ts`, `hooks.ts`), each without waiting for the others.
 */

import type { Page, WalletView } from "../../src/core/views.ts";
import { Addresses } from "./addresses.ts";
import type { ChainLife } from "./chain-life.ts";
import { TOKEN } from "./chain-life.ts";
import { Client, type Complaints } from "./client.ts";
import type { DrawnFates } from "./fates.ts";
import { Hooks } from "./hooks.ts";
import { Keys } from "./keys.ts";
import type { Network } from "./network.ts";
import { Payouts } from "./payouts.ts";
import { Receiver } from "./receiver.ts";
import { type Service, scannedTo } from "./service.ts";
import type { World } from "./world/world.ts";

const WALLET_FUNDS = 1_000n * 10n ** 18n;
/** Of each asset, for the first account. */
const FIRST_FUNDS = 6n * 10n ** 18n;
const LOOK_MS = 2_000;

export class Merchant {
  readonly name: string;
  id = "";
  wallet = "";
  /** Above this, of either asset, another key must approve; null: nobody is asked. Wei. */
  approvalAbove: bigint | null = null;
  readonly client: Client;
  readonly payouts: Payouts;
  readonly keys: Keys;
  readonly addresses: Addresses;
  readonly receiver: Receiver;
  readonly hooks: Hooks;
  readonly #world: World;

  constructor(
    world: World,
    service: Service,
    fates: DrawnFates,
    network: Network,
    complaints: Complaints,
    life: ChainLife,
    name: string,
  ) {
    this.#world = world;
    this.name = name;
    this.client = new Client(world, service, fates, complaints);
    this.payouts = new Payouts(name, world, this.client, complaints);
    this.keys = new Keys(name, world, this.client, complaints, fates.reach);
    this.addresses = new Addresses(world, this.client, complaints, life, () => scannedTo(service));
    this.receiver = new Receiver(
      world,
      service,
      fates,
      complaints,
      () => this.id,
      () => life.chain.head,
    );
    this.hooks = new Hooks(name, world, this.client, this.receiver, fates);
    network.serve(`${name}.merchant.com`, ({ headers, body }) => this.receiver.hook(headers, body));
  }

  /** Sets up, until it is done. */
  async open(life: ChainLife): Promise<void> {
    const { client, name } = this;
    const secretOf = (body: Record<string, unknown>) => (body.api_key as { secret?: string }).secret;
    const made = await client.untilShown("/v1/tenants", { name }, `sign-up ${name}`, ({ body }) => secretOf(body));
    this.id = (made.body.tenant as { id: string }).id;
    client.key = secretOf(made.body) ?? "";
    this.keys.ownId = (made.body.api_key as { id: string }).id;
    const wanted = { name: "approver", scopes: ["read", "withdrawals:approve"] };
    const second = await client.untilShown("/v1/api-keys", wanted, `key ${name}`, ({ body }) => body.secret);
    this.payouts.approver = String(second.body.secret);
    await client.untilDone("POST", "/v1/assets", { network: "local", contract: TOKEN }, `asset ${name}`);
    await this.hooks.open();
    if (name === "one") await this.#askForApprovals();
    for (const account of ["ann", "bob"]) await this.addresses.watch(account, false);
    // The other account lives on what strangers pay, so that some of what it spends was never there.
    for (const { address } of this.addresses.held.slice(0, 1)) {
      for (const asset of ["native", TOKEN]) life.give(address, asset, FIRST_FUNDS);
    }
    const wallets = await client.untilDone("GET", "/v1/wallets", undefined, null);
    this.wallet = (wallets.body as unknown as Page<WalletView>).data[0]?.address ?? "";
    life.fund(this.wallet, WALLET_FUNDS);
  }

  async #askForApprovals(): Promise<void> {
    const approvals = ["ETH", "TOK"].map((asset) => ({ network: "local", asset, above: "0.6" }));
    await this.client.untilDone("PUT", "/v1/policies/withdrawals", { approvals }, null);
    this.approvalAbove = 6n * 10n ** 17n;
  }

  /** Everything the chain has, read again. @returns the report */
  async backfill(from: number, to: number, key: string): Promise<Record<string, unknown>> {
    const body = { network: "local", from_height: from, to_height: to };
    const { id } = (await this.client.untilDone("POST", "/v1/backfills", body, key)).body;
    for (let looks = 0; looks < 60; looks++) {
      await this.#world.sleep(LOOK_MS);
      const { body: report } = await this.client.untilDone("GET", `/v1/backfills/${String(id)}`, undefined, null);
      if (report.status === "done" || report.status === "failed") return report;
    }
    return { status: "never done" };
  }
}
