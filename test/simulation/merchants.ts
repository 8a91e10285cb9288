/**
 * Merchants and the people around them, as they use the product: over HTTP with answers that get lost, retrying
 * with the same key until they know, clicking twice, changing their minds. Each remembers what it was told, so
 * that two answers can be held against each other.
 */

import type { Page, WalletView, WithdrawalView } from "../../src/core/views.ts";
import { newAddress } from "../support/model-chain.ts";
import type { ChainLife } from "./chain-life.ts";
import { TOKEN } from "./chain-life.ts";
import type { DrawnFates } from "./fates.ts";
import type { Network } from "./network.ts";
import { Receiver } from "./receiver.ts";
import type { Service } from "./service.ts";
import type { World } from "./world/world.ts";

const WALLET_FUNDS = 1_000n * 10n ** 18n;
/** Of each asset, for the first account. */
const FIRST_FUNDS = 6n * 10n ** 18n;
const CLIENT_PAUSE_MS = 2_000;

export interface Told {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A payment that was asked for: every destination belongs to one of them alone. */
export interface Wish {
  readonly key: string;
  readonly account: string;
  readonly body: { network: string; asset: string; destination: string; amount: string; account: string };
  /** The id that the key was answered with. */
  id: string | null;
}

/** What went wrong with what a merchant was told. Collected, and judged in the end. */
export class Complaints {
  readonly all: string[] = [];
  add(text: string): void {
    this.all.push(text);
  }
}

export class Merchant {
  readonly name: string;
  id = "";
  key = "";
  approver = "";
  wallet = "";
  endpoint = "";
  /** Above this, of either asset, another key must approve; null: nobody is asked. Wei. */
  approvalAbove: bigint | null = null;
  readonly receiver: Receiver;
  readonly addresses: { readonly address: string; readonly account: string }[] = [];
  readonly wishes: Wish[] = [];
  readonly #world: World;
  readonly #service: Service;
  readonly #fates: DrawnFates;
  readonly #complaints: Complaints;
  #keys = 0;

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
    this.#service = service;
    this.#fates = fates;
    this.#complaints = complaints;
    this.name = name;
    this.receiver = new Receiver(
      world,
      service,
      fates,
      complaints,
      () => this.id,
      () => life.chain.head,
    );
    network.serve(`${name}.merchant.com`, ({ headers, body }) => this.receiver.hook(headers, body));
  }

  // ---- setting up, until it is done ------------------------------------------------------------------

  async open(life: ChainLife): Promise<void> {
    // The secret is shown once: who lost the answer signs up anew.
    for (let tries = 0; this.key === ""; tries++) {
      const made = await this.untilDone("POST", "/v1/tenants", { name: this.name }, `sign-up ${this.name} ${tries}`);
      this.id = (made.body.tenant as { id: string }).id;
      this.key = (made.body.api_key as { secret?: string }).secret ?? "";
    }
    const scopes = ["read", "withdrawals:approve"];
    for (let tries = 0; this.approver === ""; tries++) {
      const second = await this.untilDone(
        "POST",
        "/v1/api-keys",
        { name: "approver", scopes },
        `key ${this.name} ${tries}`,
      );
      this.approver = String(second.body.secret ?? "");
    }
    await this.untilDone("POST", "/v1/assets", { network: "local", contract: TOKEN }, `asset ${this.name}`);
    const hook = await this.untilDone(
      "POST",
      "/v1/webhook-endpoints",
      { url: `https://${this.name}.merchant.com/`, events: null },
      `endpoint ${this.name}`,
    );
    // Lost with its answer: then signatures cannot be checked here.
    this.receiver.secret = String(hook.body.secret ?? "");
    this.endpoint = String(hook.body.id);
    if (this.name === "one") await this.#askForApprovals();
    for (const account of ["ann", "bob"]) await this.watch(account, life);
    // The other account lives on what strangers pay, so that some of what it spends was never there.
    for (const { address } of this.addresses.slice(0, 1)) {
      for (const asset of ["native", TOKEN]) life.give(address, asset, FIRST_FUNDS);
    }
    const wallets = await this.untilDone("GET", "/v1/wallets", undefined, null);
    this.wallet = (wallets.body as unknown as Page<WalletView>).data[0]?.address ?? "";
    life.fund(this.wallet, WALLET_FUNDS);
  }

  async #askForApprovals(): Promise<void> {
    const approvals = ["ETH", "TOK"].map((asset) => ({ network: "local", asset, above: "0.6" }));
    await this.untilDone("PUT", "/v1/policies/withdrawals", { approvals }, null);
    this.approvalAbove = 6n * 10n ** 17n;
  }

  async watch(account: string, life: ChainLife): Promise<void> {
    const address = newAddress();
    const isPaidBefore = this.wallet !== "" && this.#world.dice.chance(0.5);
    const from = life.chain.head + 1;
    if (isPaidBefore) {
      life.payees.push(address);
      await this.#world.sleep(this.#world.dice.between(5_000, 40_000));
    }
    const asked = { network: "local", address, account };
    // A provider that hangs behind has fewer blocks than there are.
    const body = isPaidBefore ? { ...asked, start_height: Math.min(from, life.chain.head - 6) } : asked;
    const made = await this.untilDone("POST", "/v1/addresses", body, null);
    if (isPaidBefore && Number(made.body.watched_from) > from)
      this.#complaints.add(`I5 ${address} was to be read from ${from}, and is from ${made.body.watched_from}`);
    this.addresses.push({ address, account });
    if (!isPaidBefore) life.payees.push(address);
  }

  // ---- talking to the product ------------------------------------------------------------------------

  /** One request. Null: no answer came, or one that says to come back later. */
  async ask(method: string, path: string, body: unknown, key: string | null, as = this.key): Promise<Told | null> {
    const headers: Record<string, string> = {};
    if (as !== "") headers.authorization = `Bearer ${as}`;
    if (key !== null) headers["idempotency-key"] = key;
    if (body !== undefined) headers["content-type"] = "application/json";
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const isLost = this.#fates.strikes("clientAnswerLost", `${method} ${path.replace(/[a-z]+_[0-9a-z]{26}/, "*")}`);
    const response = await this.#service.fetch(new Request(`https://sluice.test${path}`, { method, headers, ...text }));
    const answer = await response.text();
    if (isLost || response.status >= 500) {
      if (response.status === 500) this.#complaints.add(`500 for ${method} ${path}: ${answer}`);
      return null;
    }
    return { status: response.status, body: answer === "" ? {} : JSON.parse(answer) };
  }

  /** Asks until it is answered, as a careful client does: with the same key. */
  async untilDone(method: string, path: string, body: unknown, key: string | null, as = this.key): Promise<Told> {
    for (let tries = 0; ; tries++) {
      const told = await this.ask(method, path, body, key, as);
      if (told !== null && told.status < 300) return told;
      if (told !== null && told.status !== 429)
        throw new Error(`${method} ${path} was answered ${JSON.stringify(told)}`);
      if (tries > 200) throw new Error(`${method} ${path} is never answered`);
      await this.#world.sleep(CLIENT_PAUSE_MS);
    }
  }

  // ---- paying out --------------------------------------------------------------------------------------

  newWish(): Wish {
    const { dice } = this.#world;
    const account = dice.pick(["ann", "bob"]);
    const asset = dice.pick(["ETH", "TOK"]);
    const amount = `${dice.between(1, 9)}.${dice.between(1, 999)}`.replace(/\.?0+$/, "");
    const body = {
      network: "local",
      asset,
      destination: newAddress(),
      amount: `0.${amount.replace(".", "")}`,
      account,
    };
    const wish = { key: `${this.name}-${++this.#keys}`, account, body, id: null };
    this.wishes.push(wish);
    return wish;
  }

  /** Asks for it, once or several times at once, and again later if nobody answered. */
  async wishFor(wish: Wish): Promise<void> {
    const { dice } = this.#world;
    for (let tries = 0; tries < 6; tries++) {
      const clicks = dice.chance(0.3) ? dice.between(2, 4) : 1;
      const wasKnown = wish.id !== null;
      const answers = await Promise.all(
        Array.from({ length: clicks }, () => this.ask("POST", "/v1/withdrawals", wish.body, wish.key)),
      );
      for (const told of answers) if (told !== null) this.#judgeAnswer(wish, told, wasKnown);
      if (answers.some((told) => told !== null && told.status < 300)) return;
      // Perhaps there will be money; a refusal has not used the key up.
      await this.#world.sleep(dice.between(500, 8_000));
    }
  }

  /** Another request under a key that has a withdrawal: it must be refused and change nothing. */
  async misuse(wish: Wish): Promise<void> {
    const told = await this.ask("POST", "/v1/withdrawals", { ...wish.body, amount: "0.000123" }, wish.key);
    if (told === null || wish.id === null) return;
    if (told.status !== 422)
      this.#complaints.add(`I10 key ${wish.key} was accepted for another request: ${told.status}`);
  }

  async change(wish: Wish, what: "cancel" | "speed-up" | "approve" | "reject"): Promise<void> {
    if (wish.id === null) return;
    const as = what === "approve" || what === "reject" ? this.approver : this.key;
    await this.ask("POST", `/v1/withdrawals/${wish.id}/${what}`, undefined, null, as);
  }

  /** Whoever asked for a payment tries to approve it, too. */
  async approveOwn(id: string): Promise<void> {
    const told = await this.ask("POST", `/v1/withdrawals/${id}/approve`, undefined, null);
    if (told !== null && told.status < 300)
      this.#complaints.add(`approval ${id}: the key that asked for it has approved it`);
  }

  /** The endpoint was taken for gone, and is there again. */
  async enableEndpoint(): Promise<void> {
    await this.ask("POST", `/v1/webhook-endpoints/${this.endpoint}/enable`, undefined, null);
  }

  /** Somebody decides about what waits for an approval. */
  async decideAll(): Promise<void> {
    const told = await this.untilDone("GET", "/v1/withdrawals?state=pending_approval&limit=200", undefined, null);
    for (const { id } of (told.body as unknown as Page<WithdrawalView>).data) {
      if (this.#world.dice.chance(0.5)) await this.approveOwn(id);
      const what = this.#world.dice.chance(0.7) ? "approve" : "reject";
      await this.ask("POST", `/v1/withdrawals/${id}/${what}`, undefined, null, this.approver);
    }
  }

  /** Everything the chain has, read again. @returns the report */
  async backfill(from: number, to: number, key: string): Promise<Record<string, unknown>> {
    const body = { network: "local", from_height: from, to_height: to };
    const { id } = (await this.untilDone("POST", "/v1/backfills", body, key)).body;
    for (let looks = 0; looks < 60; looks++) {
      await this.#world.sleep(CLIENT_PAUSE_MS);
      const { body: report } = await this.untilDone("GET", `/v1/backfills/${String(id)}`, undefined, null);
      if (report.status === "done" || report.status === "failed") return report;
    }
    return { status: "never done" };
  }

  /** In the end a person looks at whatever waits for one, and calls it failed: the chain must still win. */
  async resolveAll(): Promise<number> {
    const told = await this.untilDone("GET", "/v1/withdrawals?state=manual_review&limit=200", undefined, null);
    const { data } = told.body as unknown as Page<WithdrawalView>;
    for (const { id } of data) {
      const decision = { outcome: "failed", evidence: "looked at it" };
      await this.ask("POST", `/v1/withdrawals/${id}/resolve`, decision, null, this.approver);
    }
    await this.ask("POST", "/v1/wallets/local/resume", undefined, null);
    return data.length;
  }

  /** @param wasKnown whether the key had its withdrawal before this was asked: of two clicks one may be refused */
  #judgeAnswer(wish: Wish, { status, body }: Told, wasKnown: boolean): void {
    if (status !== 200 && status !== 201) {
      if (wasKnown) this.#complaints.add(`I10 key ${wish.key} had ${wish.id} and was then answered ${status}`);
      return;
    }
    const { id, destination } = body as unknown as WithdrawalView;
    if (wish.id !== null && wish.id !== id) this.#complaints.add(`I10 key ${wish.key} names ${wish.id} and ${id}`);
    if (destination !== wish.body.destination) this.#complaints.add(`I10 key ${wish.key} pays ${destination}`);
    wish.id = id;
  }
}
