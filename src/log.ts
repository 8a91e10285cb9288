/**
 * The log: one JSON object a line, and the one place from which anything is printed. Levels: `error`, somebody has to
 * look; `warn`, something failed that is tried again or was refused; `info`, what happened.
 *
 * No line carries a secret. Whoever logs hands over none; what looks like one, or is one of the service's own, is
 * struck out here all the same, at the last moment, whatever wrote it into an error's message.
 */

export const LOG_LEVELS = ["error", "warn", "info"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** What a line can say beside its level, time and event. What is undefined is left out. */
export type LogFacts = Readonly<Record<string, string | number | boolean | null | undefined>>;

const MAX_TEXT_CHARS = 500;
/** Looked through for secrets at most: whoever answers with megabytes must not keep the service busy. */
const MAX_READ_CHARS = 4_000;
/** Of one line. Platforms cut long ones, and what was cut is no JSON any more. */
const MAX_LINE_CHARS = 4_000;
/** Shorter texts may be in a line by chance. */
const MIN_SECRET_CHARS = 8;

let least: LogLevel = "info";
let secrets: readonly string[] = [];
let scope: () => LogFacts = () => ({});

/**
 * What the operator set: which levels are written, and which texts are never written. Said again, it replaces what
 * was said before.
 */
export function setLog(level: LogLevel, neverShown: readonly string[]): void {
  least = level;
  // The longer first: a part that is struck out would leave the rest of it.
  secrets = [...new Set(neverShown.filter((one) => one.length >= MIN_SECRET_CHARS).flatMap(spellingsOf))].sort(
    (a, b) => b.length - a.length,
  );
}

/** What the work under way is about: facts that every line of it gets. */
export function setLogScope(facts: () => LogFacts): void {
  scope = facts;
}

/**
 * Writes a line. @param event what happened, in snake_case: what one searches the log for
 * @param thrown what came of it, if it was a fault: its name and message are written, and nothing else of it
 */
export function log(level: LogLevel, event: string, facts: LogFacts = {}, thrown?: unknown): void {
  if (LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(least)) return;
  const all = { ...scope(), ...facts, ...(thrown === undefined ? {} : faultOf(thrown)) };
  const line: Record<string, string | number | boolean | null> = { level, time: new Date().toISOString(), event };
  let size = 0;
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined) continue;
    const shown = typeof value === "string" ? shownText(name, value) : value;
    size += name.length + JSON.stringify(shown).length;
    if (size > MAX_LINE_CHARS) {
      line.cut = true;
      break;
    }
    line[name] = shown;
  }
  const text = JSON.stringify(line);
  if (level === "error") console.error(text);
  else if (level === "warn") console.warn(text);
  else console.log(text);
}

function faultOf(thrown: unknown): LogFacts {
  if (thrown instanceof Error) return { error: thrown.name, message: thrown.message };
  return { error: typeof thrown, message: "thrown without being an Error" };
}

const SECRET_NAMES = /secret|token|password|authorization|cookie|pepper|seed|private|api_?key$/i;

function shownText(name: string, text: string): string {
  if (SECRET_NAMES.test(name)) return "***";
  if (text.length <= MAX_READ_CHARS) return withoutSecrets(text).slice(0, MAX_TEXT_CHARS);
  const shown = withoutSecrets(text.slice(0, MAX_READ_CHARS));
  // The end may be the first half of a secret, which is no known text.
  const whole = Math.max(0, shown.length - (secrets[0]?.length ?? 0));
  return shown.slice(0, Math.min(whole, MAX_TEXT_CHARS));
}

/** The text with all that looks like a secret struck out. */
function withoutSecrets(text: string): string {
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, "***");
  return (
    shown
      // Percent signs and backslashes: of one that stands in a URL or in a text of JSON nothing is left either.
      .replace(/\b(sk|ses|whsec)_[\w+/=%\\-]+/g, "$1_***")
      // With a letter of an escape before it, as in "%20sk_..." and "\\nsk_...", no word begins there.
      .replace(/(sk|ses|whsec)_[\w+/=%\\-]{20,}/g, "$1_***")
      // Extended private keys are refused before anything is done with them; what quotes one shows none of it.
      .replace(/([a-z]prv)\w+/gi, "$1***")
      .replace(/\b(bearer|basic)(?:\s+|%20)\S+/gi, "$1 ***")
      // A provider's URL often carries its key in the path, the query or before the host.
      .replace(/:\/\/(?:[^\s/]*@)?([^\s/?#"'@]+)[^\s"']*/g, "://$1/***")
  );
}

/** As it is, and as it stands in a URL, in base64 and in hex. */
function spellingsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(String.fromCharCode(...bytes)).replace(/=+$/, "");
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const spelt = [secret, encodeURIComponent(secret), base64, hex];
  return spelt.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)]);
}
