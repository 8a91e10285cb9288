/** The product inside a world: its Worker, its objects, D1, cron; all of it the real code. */

import { fetchHandler, migrations, type ObjectKind, objects, scheduledHandler } from "./product.mjs";
import { type D1Fates, SimD1 } from "./world/d1.ts";
import { contextOf, type Fates, namespaceOf, SimObject } from "./world/objects.ts";
import type { World } from "./world/world.ts";

const CRON_MS = 60_000;

export const isScanner = ({ name, disk }: SimObject) =>
  name.startsWith("scanner/") && disk.rows("SELECT 1 FROM sqlite_master WHERE name = 'addresses'").length > 0;
export const isTenant = ({ name, disk }: SimObject) =>
  name.startsWith("tenant/") && disk.rows("SELECT 1 FROM sqlite_master WHERE name = 'withdrawals'").length > 0;
/** Objects that were ever called to an end: one whose first call crashed has no tables and was given nothing. */
export const isEndpoint = ({ name, disk }: SimObject) =>
  name.startsWith("endpoint/") && disk.rows("SELECT 1 FROM sqlite_master WHERE name = 'deliveries'").length > 0;

/** Up to where the one network of a world is read; -1: nothing of it is. */
export function scannedTo({ objects: all }: Service): number {
  const heights = all.filter(isScanner).map(({ disk }) => disk.rows("SELECT scanned_to FROM scanner")[0]?.scanned_to);
  return Math.max(-1, ...heights.map((height) => Number(height ?? -1)));
}

export interface ServiceFates extends Fates, D1Fates {
  cron(): "runs" | "skipped";
}

export interface ServiceSettings {
  readonly networks: string;
  /** `RPC_<NETWORK>` by name. */
  readonly rpc: Readonly<Record<string, string>>;
  /** False: nobody looks after what is left but the product's own alarms. */
  readonly hasCron: boolean;
}

export class Service {
  readonly d1: SimD1;
  readonly env: object;
  readonly #world: World;
  readonly #fates: ServiceFates;
  readonly #objects = new Map<string, SimObject>();

  constructor(world: World, fates: ServiceFates, settings: ServiceSettings) {
    this.#world = world;
    this.#fates = fates;
    this.d1 = new SimD1(world, fates, migrations);
    this.env = {
      DB: this.d1,
      TENANT: namespaceOf((name) => this.object("tenant", name)),
      CHAIN_SCANNER: namespaceOf((name) => this.object("scanner", name)),
      WEBHOOK_ENDPOINT: namespaceOf((name) => this.object("endpoint", name)),
      KEY_PEPPER: "a pepper for the simulation alone, 0123456789",
      OPERATOR_TOKEN: "an operator of the simulation alone, 9876543210",
      WALLET_SEED: "7f3a9c51e8d24b06f1a7c3590de8b246d05e81c7a94f32b6680b1df4e97a25c3",
      SECRETS_KEY: "1:AHQFc9VYm1aVbTSYvBqMxGGLxJ7liC+ODqgXdtAvEMI=",
      ALLOW_LOCAL_WEBHOOKS: "true",
      NETWORKS: settings.networks,
      ...settings.rpc,
    };
    this.#cron(settings.hasCron);
  }

  get objects(): readonly SimObject[] {
    return [...this.#objects.values()];
  }

  object(kind: ObjectKind, name: string): SimObject {
    const full = `${kind}/${name}`;
    const known = this.#objects.get(full);
    if (known !== undefined) return known;
    const Class = objects[kind];
    const made = new SimObject(this.#world, full, this.#fates, (object) => {
      return new Class(contextOf(this.#world, object), this.env);
    });
    this.#objects.set(full, made);
    return made;
  }

  /** One HTTP request, as the platform brings it to the Worker. */
  fetch(request: Request): Promise<Response> {
    return fetchHandler(request, this.env);
  }

  /** Every instance ends, as it does when new code is put in place. `atOnce`: and all of them begin again together. */
  deploy(atOnce: boolean): void {
    for (const object of this.#objects.values()) object.crash(true, "deploy");
    if (atOnce) for (const object of this.#objects.values()) object.live();
  }

  #cron(isThere: boolean): void {
    this.#world.later(CRON_MS, "cron", () => {
      this.#cron(isThere);
      if (this.#fates.cron() === "skipped") return;
      // A platform that no longer calls an alarm is what cron alone repairs.
      if (!isThere && !this.objects.some(({ isGivenUp }) => isGivenUp)) return;
      scheduledHandler({}, this.env).catch(() => {});
    });
  }
}
