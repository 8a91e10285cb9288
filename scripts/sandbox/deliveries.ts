/**
 * Owns: what a receiver was sent, tenant by tenant: the last few hundred deliveries, numbered without gaps, one line of
 * a file for each. A line that a kill cut short is as if it had not come: whoever sent it was not answered either.
 */

import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../data-folder.mjs";

export interface Delivery {
  readonly n: number;
  readonly at: string;
  /** Whose secret it was signed with; null: nobody's that is known here. */
  readonly endpoint_id: string | null;
  readonly event_id: string | null;
  readonly type: string | null;
  readonly subject: string | null;
  readonly sequence: number | null;
  readonly verified: boolean;
  /** Why it was not believed; null: it was. */
  readonly problem: string | null;
  /** It was taken in before: a shop that books it again books it twice. */
  readonly duplicate: boolean;
  /** The status; null: whoever sent it had left. */
  readonly answered: number | null;
  readonly body: string;
}

/** What a shop has done with it stays here. */
interface Kept extends Delivery {
  readonly taken_in: boolean;
}

export const KEPT = 500;
export const PER_PAGE = 100;

export class Deliveries {
  readonly #folder: string;
  readonly #byTenant = new Map<string, Kept[]>();
  readonly #lines = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = join(folder, "deliveries");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** @param takenIn whether a shop would have booked it, whatever it answered in time */
  add(tenantId: string, made: Omit<Delivery, "n">, takenIn: boolean): void {
    const kept = this.#of(tenantId);
    const delivery: Kept = { n: (kept.at(-1)?.n ?? 0) + 1, ...made, taken_in: takenIn };
    kept.push(delivery);
    if (kept.length > KEPT) kept.shift();
    const lines = (this.#lines.get(tenantId) ?? 0) + 1;
    if (lines > 2 * KEPT) this.#rewrite(tenantId, kept);
    else {
      appendFileSync(this.#path(tenantId), `${JSON.stringify(delivery)}\n`, { mode: 0o600 });
      this.#lines.set(tenantId, lines);
    }
  }

  wasTakenIn(tenantId: string, eventId: string): boolean {
    return this.#of(tenantId).some((one) => one.taken_in && one.event_id === eventId);
  }

  /** `next` is what to ask for after these. */
  after(tenantId: string, n: number): { data: Delivery[]; next: number } {
    const page = this.#of(tenantId)
      .filter((one) => one.n > n)
      .slice(0, PER_PAGE);
    const data = page.map(({ taken_in: _, ...shown }) => shown);
    return { data, next: data.at(-1)?.n ?? n };
  }

  #of(tenantId: string): Kept[] {
    const known = this.#byTenant.get(tenantId);
    if (known !== undefined) return known;
    const { found, isWhole } = this.#read(tenantId);
    const kept = found.slice(-KEPT);
    this.#byTenant.set(tenantId, kept);
    this.#lines.set(tenantId, found.length);
    // What follows must not be written behind half a line.
    if (!isWhole) this.#rewrite(tenantId, kept);
    return kept;
  }

  #read(tenantId: string): { found: Kept[]; isWhole: boolean } {
    let text: string;
    try {
      text = readFileSync(this.#path(tenantId), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { found: [], isWhole: true };
      throw error;
    }
    const lines = text.split("\n");
    const isWhole = lines.pop() === "";
    return { found: lines.map((line) => JSON.parse(line) as Kept), isWhole };
  }

  #rewrite(tenantId: string, kept: readonly Kept[]): void {
    writeWhole(this.#path(tenantId), kept.map((one) => `${JSON.stringify(one)}\n`).join(""));
    this.#lines.set(tenantId, kept.length);
  }

  #path(tenantId: string): string {
    return join(this.#folder, `${tenantId}.jsonl`);
  }
}
