/** Small pieces of text: states, times, amounts, and long names that are copied rather than read. */

import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

export type Tone = "good" | "warn" | "bad" | "info" | "none";

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  );
}

const TONES: Record<string, Tone> = {
  confirmed: "good",
  settled: "good",
  delivered: "good",
  enabled: "good",
  active: "good",
  ok: "good",
  matched: "good",
  done: "good",
  mined: "good",
  pending: "info",
  running: "info",
  queued: "info",
  sent: "info",
  request_received: "info",
  funds_reserved: "info",
  broadcast_pending: "info",
  confirmation_tracking: "info",
  pending_approval: "warn",
  manual_review: "warn",
  lagging: "warn",
  incomplete: "warn",
  reverted: "bad",
  failed: "bad",
  rejected: "bad",
  given_up: "bad",
  halted: "bad",
  disabled: "bad",
  stopped: "bad",
  mismatched: "bad",
  revoked: "bad",
};

/** A state in the API's own word, with blanks in the place of underscores. */
export function State({ of }: { readonly of: string }) {
  return <Badge tone={TONES[of] ?? "none"}>{of.replaceAll("_", " ")}</Badge>;
}

export function toneOf(state: string): Tone {
  return TONES[state] ?? "none";
}

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment: how long ago, and the exact time to whoever points at it. */
export function Time({ at }: { readonly at: string | null }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 20_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return <span className="quiet">never</span>;
  return (
    <time dateTime={at} title={FULL.format(new Date(at))}>
      {ago(now - Date.parse(at))}
    </time>
  );
}

/** The exact time, where its order matters. */
export function ExactTime({ at }: { readonly at: string }) {
  return <time dateTime={at}>{FULL.format(new Date(at))}</time>;
}

function ago(ms: number): string {
  if (ms < -10_000) return `in ${span(-ms)}`;
  if (ms < 10_000) return "just now";
  return `${span(ms)} ago`;
}

export function span(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** An amount exactly as the service wrote it, with its asset. */
export function Amount({ amount, asset }: { readonly amount: string; readonly asset: string }) {
  return (
    <span className="number">
      {amount} <span className="quiet">{asset}</span>
    </span>
  );
}

/** `0x1234…cdef`; the whole of it is copied, and told to whoever points at it. */
export function Short({
  text,
  label,
  keep = 6,
}: {
  readonly text: string;
  readonly label: string;
  readonly keep?: number;
}) {
  const short = text.length <= keep * 2 + 3 ? text : `${text.slice(0, keep + 2)}…${text.slice(-keep)}`;
  return (
    <span className="row" style={{ gap: 4, flexWrap: "nowrap" }}>
      <span className={keep > 8 ? "mono break" : "mono short"} title={text}>
        {short}
      </span>
      <Copy text={text} label={label} />
    </span>
  );
}

/** @param label what is copied, for those who do not see the button's neighbours */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button
      look="plain"
      small
      aria-label={copied ? `${label} copied` : `Copy ${label}`}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}
