/**
 * Owns which URLs a webhook may be sent to. Checked at registration and again before every attempt.
 *
 * Judged after parsing, on what the parser yields, because that is what fetch connects to: `2130706433`,
 * `0x7f000001` and `127.1` all arrive here as 127.0.0.1. IP literals are refused altogether, public ones
 * too: a certificate for a name is the proof that somebody owns the receiver. Where a name leads is
 * another question: target-place.ts.
 */

import { addressScope } from "./ip-address.ts";

export type TargetRefusal =
  | "too_long"
  | "malformed"
  | "not_https"
  | "credentials"
  | "fragment"
  | "port"
  | "ip_literal"
  | "inside_name";

export type TargetCheck =
  | { readonly ok: true; readonly url: URL }
  /** `detail` is one sentence for the merchant's developer. */
  | { readonly ok: false; readonly reason: TargetRefusal; readonly detail: string };

export interface TargetPolicy {
  /** Opens http, loopback (127.0.0.0/8, ::1, localhost) and any port on it. For local work only. */
  readonly allowLocal: boolean;
}

const MAX_URL_LENGTH = 2048;
const MAX_NAME_LENGTH = 253;

/**
 * Last labels that lead inside. Sources: RFC 6761 (localhost), RFC 6762 with its appendix G (local,
 * intranet, internal, private, corp, home, lan), RFC 8375 (home.arpa).
 */
const INSIDE_SUFFIXES = [
  "localhost",
  "localdomain",
  "local",
  "intranet",
  "internal",
  "private",
  "corp",
  "home",
  "lan",
  "home.arpa",
];

export function checkTarget(text: string, policy: TargetPolicy): TargetCheck {
  if (text.length > MAX_URL_LENGTH) {
    return no("too_long", `The URL has ${text.length} characters; at most ${MAX_URL_LENGTH} are allowed.`);
  }
  const url = parse(text);
  if (url === null)
    return no("malformed", "The URL must be absolute, start with https:// and hold no spaces or backslashes.");
  // Looked for in the text: the parser drops an empty fragment and an empty user name.
  if (text.includes("#")) return no("fragment", "The URL must not have a fragment (#...).");
  if (/^[^:]+:\/\/[^/?]*@/.test(text)) return no("credentials", "The URL must not carry a user name or password.");

  const host = url.hostname.replace(/^\[|\]$/g, "");
  const scope = addressScope(host);
  if (isLocalHost(url, policy)) return { ok: true, url };

  if (url.protocol !== "https:") return no("not_https", `The URL must use https, not ${url.protocol.slice(0, -1)}.`);
  if (scope !== null) return no("ip_literal", "The host must be a name; IP addresses are refused in every spelling.");
  if (url.port !== "") return no("port", `The port must be 443, not ${url.port}.`);
  return checkName(url, host);
}

/** Whether the host is this machine, and this machine is open. */
export function isLocalHost({ hostname }: URL, policy: TargetPolicy): boolean {
  const isLocal = hostname === "localhost" || addressScope(hostname.replace(/^\[|\]$/g, "")) === "loopback";
  return policy.allowLocal && isLocal;
}

function checkName(url: URL, name: string): TargetCheck {
  const labels = name.split(".");
  if (
    name.length > MAX_NAME_LENGTH ||
    !labels.every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
  ) {
    return no("malformed", `"${name}" is not a host name (no empty labels, no dot at the end).`);
  }
  if (labels.length === 1 || INSIDE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))) {
    return no("inside_name", `"${name}" is not a name on the public internet.`);
  }
  return { ok: true, url };
}

/** Only plain spellings: the URL parser would repair `https:host`, `https:\\host` and line breaks. */
function parse(text: string): URL | null {
  if (!/^https?:\/\/[^/\\]/i.test(text) || /[\s\\\p{Cc}]/u.test(text)) return null;
  return URL.canParse(text) ? new URL(text) : null;
}

function no(reason: TargetRefusal, detail: string): TargetCheck {
  return { ok: false, reason, detail };
}
