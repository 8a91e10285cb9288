/**
 * Live updates: follows the event feed from now on, and refreshes what shows the noun that an event is about.
 * One feed for the page, whatever it shows; the SDK outlasts restarts and lost connections by itself.
 */

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { AuthenticationError } from "../sdk/errors.ts";
import type { SluiceEvent } from "../sdk/types.ts";
import { sluice } from "./client.ts";
import { becomeSession, type Noun } from "./queries.ts";
import { isServiceReached, onReach } from "./reach.ts";

/** What an event of each kind changes. */
const CHANGES: Record<string, readonly Noun[]> = {
  deposit: ["deposits", "balances", "entries", "networks"],
  withdrawal: ["withdrawals", "balances", "entries", "wallets"],
  account: ["balances", "entries"],
  network: ["networks", "incidents"],
  endpoint: ["endpoints"],
  incident: ["incidents"],
  webhook: ["endpoints"],
};
/** Of the latest events the page keeps so many. */
const KEPT = 100;
/** Events come in bursts. What is shown is asked for again once for all that come within this time. */
const REFRESH_AFTER_MS = 250;
const LOOK_EVERY_MS = 2_000;
/** Deliveries follow an event a moment later. */
const DELIVERIES_AFTER_MS = 1_500;

export interface Live {
  /** `live`: the service answers and its feed is being read. `waiting`: it does not, and is asked again. */
  readonly status: "live" | "waiting";
  /** Newest first. */
  readonly latest: readonly SluiceEvent[];
}

const LiveContext = createContext<Live>({ status: "waiting", latest: [] });

export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const [live, setLive] = useState<Live>({ status: "waiting", latest: [] });
  const isReached = useSyncExternalStore(onReach, isServiceReached);

  useEffect(() => {
    if (!isReached) {
      const ends = new AbortController();
      void lookFor(ends.signal);
      return () => {
        ends.abort();
        // What failed, or was missed while the service was away. Not when the page ends with nobody signed in.
        if (isServiceReached()) void queries.invalidateQueries();
      };
    }
    const ends = new AbortController();
    const changed = new Set<Noun>();
    let isDue = false;
    void follow(ends.signal);
    return () => ends.abort();

    async function follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          const after = (await sluice.session.get({ signal })).event_sequence;
          setLive((now) => ({ ...now, status: "live" }));
          for await (const event of sluice.events.follow({ after, signal })) {
            setLive((now) => ({ status: "live", latest: [event, ...now.latest].slice(0, KEPT) }));
            refresh(event);
          }
        } catch (error) {
          if (signal.aborted) return;
          if (error instanceof AuthenticationError) return becomeSession(queries, null);
          setLive((now) => ({ ...now, status: "waiting" }));
          await pause(3_000, signal);
        }
      }
    }

    function refresh(event: SluiceEvent): void {
      for (const noun of CHANGES[event.type.split(".")[0] ?? ""] ?? []) changed.add(noun);
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        invalidate(changed);
        changed.clear();
      }, REFRESH_AFTER_MS);
      setTimeout(() => invalidate(["deliveries"]), DELIVERIES_AFTER_MS);
    }

    function invalidate(nouns: Iterable<Noun>): void {
      for (const noun of nouns) void queries.invalidateQueries({ queryKey: [noun] });
    }
  }, [queries, isReached]);

  const shown = useMemo<Live>(() => (isReached ? live : { ...live, status: "waiting" }), [live, isReached]);
  return <LiveContext value={shown}>{children}</LiveContext>;
}

/** The feed's own pauses grow with an outage, to more than whoever looks at the page would wait. */
async function lookFor(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(LOOK_EVERY_MS, signal);
    await sluice.session.get({ signal }).catch(() => {});
  }
}

export function useLive(): Live {
  return useContext(LiveContext);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
