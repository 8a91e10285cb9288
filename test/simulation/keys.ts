/**
 * A merchant's API keys. It puts new ones in the place of the one that it works with, and lends out others, which
 * are replaced or revoked while they are used. A revoked key is refused from the answer on, for ever; one that was
 * replaced works until its overlap ends, and no longer.
 */

import type { Client, Complaints, Told } from "./client.ts";
import type { Reach } from "./fates.ts";
import type { World } from "./world/world.ts";

/** Of the key that it works with: longer than all of a run. */
const OWN_OVERLAP_S = 7 * 24 * 3_600;
const UNAUTHORIZED = 401;

export class Keys {
  /** Of the key that the client works with. */
  ownId = "";
  /** Keys that took each other's place, the first one first. All of them still work. */
  readonly #earlier: string[] = [];
  readonly #revoked: string[] = [];
  readonly #name: string;
  readonly #world: World;
  readonly #client: Client;
  readonly #complaints: Complaints;
  readonly #reach: Reach;
  #made = 0;
  #isRotating = false;

  constructor(name: string, world: World, client: Client, complaints: Complaints, reach: Reach) {
    this.#reach = reach;
    this.#name = name;
    this.#world = world;
    this.#client = client;
    this.#complaints = complaints;
  }

  /** Works with a new key from now on. What is under way with the old one goes on. */
  async rotateOwn(): Promise<void> {
    if (this.#isRotating) return;
    this.#isRotating = true;
    const fresh = await this.#client.untilShown(
      `/v1/api-keys/${this.ownId}/rotate`,
      { overlap_seconds: OWN_OVERLAP_S },
      this.#newName(),
      ({ body }) => body.secret,
    );
    this.#earlier.push(this.#client.key);
    this.#client.key = String(fresh.body.secret);
    this.ownId = String(fresh.body.id);
    this.#isRotating = false;
    this.#reach.count("people own key replaced");
    for (const key of this.#earlier) await this.#expect(key, "works");
  }

  /** A key for somebody who will not need it long. */
  async lend(): Promise<void> {
    const { dice } = this.#world;
    let lent = await this.#shown("/v1/api-keys", { name: "lent", scopes: ["read"] });
    await this.#expect(lent.secret, "works");
    if (dice.chance(0.5)) lent = await this.#replace(lent);
    const uses = [this.#use(lent.secret), this.#use(lent.secret)];
    await this.#client.untilDone("DELETE", `/v1/api-keys/${lent.id}`, undefined, null);
    this.#revoked.push(lent.secret);
    this.#reach.count("people lent key revoked");
    await this.#expect(lent.secret, "is refused");
    await Promise.all(uses);
  }

  /** What was revoked stays so, whatever became of the objects since. */
  async tryRevoked(): Promise<void> {
    for (const key of this.#revoked) await this.#expect(key, "is refused");
  }

  /** Another in its place, and the old one tried until its overlap is over. @returns the new one */
  async #replace(old: { id: string; secret: string }): Promise<{ id: string; secret: string }> {
    const { dice, now } = this.#world;
    const overlapS = dice.between(5, 40);
    const body = { overlap_seconds: overlapS };
    const told = await this.#client.untilTold("POST", `/v1/api-keys/${old.id}/rotate`, body, this.#newName());
    const answeredAt = this.#world.now;
    // Its answer was lost once, and the overlap is over: then nobody has the new one's secret.
    if (told.status >= 300) throw new Error(`a key that worked could not be replaced: ${JSON.stringify(told)}`);
    this.#reach.count("people lent key replaced");
    for (let looks = 0; looks < 3; looks++) {
      await this.#world.sleep(dice.between(1, overlapS * 700));
      const askedAt = this.#world.now;
      const used = await this.#use(old.secret);
      if (used === null) continue;
      const isRefused = used.status === UNAUTHORIZED;
      if (isRefused && this.#world.now < now + overlapS * 1_000)
        this.#complaints.add(`key ${old.id} was refused before its overlap of ${overlapS} s ended`);
      if (!isRefused && askedAt > answeredAt + overlapS * 1_000)
        this.#complaints.add(`key ${old.id} works after its overlap of ${overlapS} s: ${used.status}`);
    }
    if (typeof told.body.secret === "string") return { id: String(told.body.id), secret: told.body.secret };
    return this.#shown("/v1/api-keys", { name: "lent", scopes: ["read"] });
  }

  async #shown(path: string, body: unknown): Promise<{ id: string; secret: string }> {
    const told = await this.#client.untilShown(path, body, this.#newName(), (answer) => answer.body.secret);
    return { id: String(told.body.id), secret: String(told.body.secret) };
  }

  #use(key: string): Promise<Told | null> {
    return this.#client.ask("GET", "/v1/tenant", undefined, null, key);
  }

  async #expect(key: string, what: "works" | "is refused"): Promise<void> {
    const { status } = await this.#client.untilTold("GET", "/v1/tenant", undefined, null, key);
    if ((status === UNAUTHORIZED) !== (what === "is refused"))
      this.#complaints.add(`key ...${key.slice(-6)} ${what}, and was answered ${status}`);
  }

  #newName(): string {
    return `lent ${this.#name} ${++this.#made}`;
  }
}
