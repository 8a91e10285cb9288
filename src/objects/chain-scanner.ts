/**
 * One network: reads each block once for all tenants.
 *
 * Owns the window of headers, the cursor, the watched addresses and who still must hear what. The alarm is
 * the poll loop; it is re-armed last, whatever happened, and cron arms it again should it ever be lost.
 */

import { DurableObject } from "cloudflare:workers";
import { createChainNodes } from "../chains/nodes.ts";
import { ChainFault } from "../chains/port.ts";
import type { Figure } from "../core/figures.ts";
import { type Outcome, refuse } from "../core/refusal.ts";
import { type Env, readSettings } from "../env.ts";
import { log } from "../log.ts";
import { migrateScannerDb, openScannerDb, type ScannerDb } from "../store/scanner/database.ts";
import { earliestJobDue } from "../store/scanner/job-store.ts";
import { allCounters, readState } from "../store/scanner/state-store.ts";
import type { OverdueAlarm, Patrolled, ScannerApi, ScannerStatus, WatchRequest } from "./api.ts";
import { Reporter } from "./reporter.ts";
import { isActive } from "./scanner/active.ts";
import { freshMemory, type Memory, type ScannerContext, stateOf } from "./scanner/context.ts";
import { ScannerFigures } from "./scanner/figures.ts";
import { resume } from "./scanner/halt.ts";
import { poll } from "./scanner/poll.ts";
import { tellHalt } from "./scanner/sights.ts";
import { listToken, ready, scannedTo, startBackfill, unwatch, watch } from "./scanner/watch.ts";
import { type SteppedStorage, steppedStorage } from "./stepped-storage.ts";

const RPC_TIMEOUT_MS = 10_000;
const MAX_BACKOFF_MS = 15_000;
/** An alarm this late is taken for lost. */
const OVERDUE_MS = 30_000;
/** Behind by more than this many polls' time: lagging. */
const LAGGING_POLLS = 10;

export class ChainScanner extends DurableObject<Env> implements ScannerApi {
  /** Set by tests; unix milliseconds. */
  clock: () => number = Date.now;
  readonly #storage: SteppedStorage;
  readonly #db: ScannerDb;
  readonly #memory: Memory = freshMemory();
  protected readonly reporter: Reporter;
  readonly #figures: ScannerFigures;
  #toldStatus: string | null = null;
  #context: ScannerContext | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#storage = steppedStorage("ChainScanner", ctx.storage);
    this.#db = openScannerDb(ctx.storage);
    this.#figures = new ScannerFigures();
    this.reporter = new Reporter({
      env,
      now: () => this.clock(),
      source: () => (this.#open() === null ? null : `network:${this.#name()}`),
      figures: () => this.#tell(),
    });
    ctx.blockConcurrencyWhile(() => migrateScannerDb(this.#db));
  }

  async watch(request: WatchRequest): Promise<Outcome<{ watchedFrom: number; scannedTo: number }>> {
    const s = this.#open();
    if (s === null) return this.#switchedOff();
    const watched = await watch(s, request);
    if (watched.ok) await this.#armSoon();
    return watched;
  }

  async ready(): Promise<Outcome<null>> {
    const s = this.#open();
    return s === null ? this.#switchedOff() : ready(s);
  }

  async unwatch(tenantId: string, address: string): Promise<void> {
    const network = readSettings(this.env).knownNetworks.get(this.#name());
    if (network !== undefined) unwatch({ db: this.#db, network }, tenantId, address);
  }

  async scannedTo(tenantId: string, addresses: readonly string[]): Promise<Record<string, number>> {
    const s = this.#open();
    return s === null ? {} : scannedTo(s, tenantId, addresses);
  }

  async listToken(tenantId: string, contract: string): Promise<void> {
    const s = this.#open();
    if (s !== null) listToken(s, tenantId, contract);
  }

  async tokenFacts(contract: string): Promise<Outcome<{ symbol: string; decimals: number }>> {
    const s = this.#open();
    if (s === null) return this.#switchedOff();
    let detail = "no node is configured";
    for (const node of s.nodes.candidates(s.now())) {
      try {
        const facts = await node.token(contract);
        if (facts !== null) return { ok: true, value: { symbol: facts.symbol, decimals: facts.decimals } };
        return refuse("invalid_token", `${contract} on ${s.network.id} does not state a symbol and decimals.`, {
          errors: [{ path: "contract", message: "not a token contract" }],
        });
      } catch (error) {
        if (!(error instanceof ChainFault)) throw error;
        detail = error.message;
      }
    }
    return refuse("chain_unavailable", `${s.network.id} cannot be asked now: ${detail}.`, { retryAfterS: 5 });
  }

  async startBackfill(request: Parameters<ScannerApi["startBackfill"]>[0]): Promise<Outcome<null>> {
    const s = this.#open();
    if (s === null) return this.#switchedOff();
    const started = startBackfill(s, request);
    if (started.ok) await this.#armSoon();
    return started;
  }

  async resume(fromHeight: number | null): Promise<Outcome<{ fromHeight: number }>> {
    const s = this.#open();
    if (s === null) return this.#switchedOff();
    const resumed = await resume(s, fromHeight);
    if (resumed.ok) await this.#armSoon();
    return resumed;
  }

  async status(): Promise<ScannerStatus> {
    return this.#status();
  }

  #tell(): readonly Figure[] {
    const s = this.#open();
    return s === null ? [] : this.#figures.of(s, this.#status());
  }

  #status(): ScannerStatus {
    const s = this.#open();
    const state = readState(this.#db);
    const memory = this.#memory;
    const counters = allCounters(this.#db);
    const head =
      memory.head === null ? (state?.scannedTo ?? null) : Math.max(memory.head.height, state?.scannedTo ?? 0);
    return {
      network: state?.network ?? this.#name(),
      head,
      scannedTo: state?.scannedTo ?? null,
      finalized: state === undefined || state.finalized < 0 ? null : state.finalized,
      windowFrom: state?.windowFrom ?? null,
      status: state?.status === "halted" ? "halted" : s !== null && this.#isLagging(s) ? "lagging" : "ok",
      internal: s?.network.internal === false ? "off" : (state?.internal ?? "unknown"),
      incident:
        state?.incidentId != null && state.incidentReason !== null && state.incidentAt !== null
          ? { id: state.incidentId, reason: state.incidentReason, at: state.incidentAt }
          : null,
      // Counted as they come and go: there may be ten million rows.
      watchedAddresses: (counters.watches_taken ?? 0) - (counters.watches_ended ?? 0),
      counters,
      lastPollAt: memory.lastPollAt,
      lastError: memory.lastError,
    };
  }

  async patrol(): Promise<Patrolled> {
    const s = this.#open();
    if (s === null) return { overdueMs: 0, alarm: null, report: null };
    let overdueMs = 0;
    let alarm: OverdueAlarm | null = null;
    if (isActive(s)) {
      tellHalt(s);
      const at = await this.#storage.getAlarm();
      overdueMs = Math.max(0, s.now() - (at ?? s.memory.lastPollAt ?? s.now()));
      if (at === null || at < s.now() - OVERDUE_MS) {
        await this.#storage.setAlarm(s.now());
        // While it fires no alarm is set: the poll that goes on sets the next one.
        if (s.memory.sights.polls === 0) alarm = { dueAt: at, isMissing: at === null };
      }
    }
    return { overdueMs, alarm, report: this.reporter.report() };
  }

  override async alarm(): Promise<void> {
    const s = this.#open();
    if (s === null) return;
    const startedAt = s.now();
    let more = false;
    s.memory.sights.polls++;
    try {
      more = await poll(s);
    } catch (error) {
      // Re-armed below: an alarm that throws dies for good after a few tries.
      s.memory.failedPolls++;
      s.memory.counted.pollsFailed++;
      s.memory.lastError = error instanceof Error ? error.message : String(error);
      log("error", "poll_failed", { network: s.network.id, failed_polls: s.memory.failedPolls }, error);
    }
    s.memory.sights.polls--;
    this.#tellMonitor();
    if (!isActive(s)) return;
    await this.#storage.setAlarm(this.#nextPoll(s, startedAt, more));
  }

  /** Every ten seconds at most, but for what should be known at once. */
  #tellMonitor(): void {
    const status = readState(this.#db)?.status ?? null;
    if (!this.reporter.isDue && status === this.#toldStatus) return;
    this.#toldStatus = status;
    this.ctx.waitUntil(this.reporter.tell());
  }

  #nextPoll(s: ScannerContext, startedAt: number, more: boolean): number {
    const { failedPolls } = s.memory;
    if (failedPolls > 0) return s.now() + Math.min(s.network.pollMs * 2 ** Math.min(failedPolls, 10), MAX_BACKOFF_MS);
    if (more) return s.now();
    const paced = Math.max(startedAt + s.network.pollMs, s.now());
    const job = earliestJobDue(s.db);
    // A job that is due and was not done has to wait, for a halt to end or for the next poll.
    return job === null || job <= s.now() ? paced : Math.min(paced, job);
  }

  async #armSoon(): Promise<void> {
    const at = await this.#storage.getAlarm();
    const now = this.clock();
    if (at === null || at > now) await this.#storage.setAlarm(now);
  }

  #isLagging(s: ScannerContext): boolean {
    const { head, lastOkAt, lastPollAt } = s.memory;
    if (!isActive(s)) return false;
    const patience = LAGGING_POLLS * s.network.pollMs + OVERDUE_MS;
    if (lastPollAt !== null && (lastOkAt === null || s.now() - lastOkAt > patience)) return true;
    const behind = head === null ? 0 : head.height - (stateOf(s).scannedTo ?? 0);
    return behind > s.network.reorgWindow;
  }

  /** Null when the operator has no RPC URL for this network. */
  #open(): ScannerContext | null {
    if (this.#context !== null) return this.#context;
    const network = readSettings(this.env).networks.get(this.#name());
    if (network === undefined) return null;
    const now = () => this.clock();
    this.#context = {
      storage: this.#storage,
      db: this.#db,
      env: this.env,
      network: network.settings,
      nodes: createChainNodes({
        settings: network.settings,
        urls: network.urls,
        fetch: (input, init) => fetch(input, init),
        timeoutMs: RPC_TIMEOUT_MS,
        now,
      }),
      now,
      memory: this.#memory,
    };
    return this.#context;
  }

  /** The network this object was named for. Its row remembers it for wake-ups that carry no name. */
  #name(): string {
    const name = this.ctx.id.name ?? readState(this.#db)?.network;
    if (name === undefined) throw new Error("a scanner was reached by a bare id before it was ever named");
    return name;
  }

  #switchedOff(): { ok: false; refusal: ReturnType<typeof refuse>["refusal"] } {
    return refuse("chain_unavailable", `The network ${this.#name()} is not switched on here.`, { retryAfterS: 60 });
  }
}
