/** What calls share in the document: how they are opened, their headers, and the groups they stand in. */

import { EXAMPLE } from "../../schema/examples.ts";
import { API_KEY, IDEMPOTENCY_PARAMETER, OPERATOR_TOKEN, REQUIRED_IDEMPOTENCY_PARAMETER, SESSION } from "../calls.ts";
import { SESSION_COOKIE } from "../session-cookie.ts";

export const INFO = {
  title: "Sluice",
  version: "1",
  description:
    "Watches deposit addresses and tells about every deposit and every reversal exactly once in effect; " +
    "pays withdrawals out at most once. " +
    "JSON in and out; amounts are decimal strings; times are RFC 3339 in UTC. " +
    "A body is one JSON object in UTF-8 of at most 64 KiB, without unknown or repeated fields; " +
    "unknown query parameters are refused as well. Every problem is an application/problem+json document.",
};

export const SECURITY_SCHEMES = {
  [API_KEY]: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key, sk_... x-required-scope says which scope a call needs; a key with admin has every one of them.",
  },
  [SESSION]: {
    type: "apiKey",
    in: "cookie",
    name: SESSION_COOKIE,
    description:
      "The cookie that POST /v1/session sets, for pages of the service's own origin. A call with it and without an " +
      "Authorization header is made as the key that signed in; anything but GET and HEAD needs an Origin header equal " +
      "to the service's own, which browsers send by themselves.",
  },
  [OPERATOR_TOKEN]: {
    type: "http",
    scheme: "bearer",
    description: "The operator's token. No API key opens these calls.",
  },
} as const;

const key = { name: "Idempotency-Key", in: "header", example: "payout-17" } as const;
const keySchema = { type: "string", minLength: 1, maxLength: 255 } as const;

export const PARAMETERS = {
  [IDEMPOTENCY_PARAMETER]: {
    ...key,
    required: false,
    description:
      "1 to 255 printable ASCII characters, compared byte for byte. The same key with the same request answers " +
      "with the same object and Idempotent-Replayed: true; with another request it is refused.",
    schema: keySchema,
  },
  [REQUIRED_IDEMPOTENCY_PARAMETER]: {
    ...key,
    required: true,
    description:
      "1 to 255 printable ASCII characters, compared byte for byte. It names one withdrawal of its account for " +
      "ever: the same request again answers with that withdrawal as it stands and Idempotent-Replayed: true; " +
      "with another request it is refused. A refused request leaves it free.",
    schema: keySchema,
  },
} as const;

/** By the names that answers refer to them with: the headers' own. */
export const HEADERS = {
  "X-Request-Id": {
    description: "Names this request. On every answer; always made by the service.",
    schema: { type: "string" },
    example: "req_01k5q99j2k3m4n5p6q7r8s9t0v",
  },
  "Idempotent-Replayed": {
    description: "true when an earlier request with this Idempotency-Key did it; absent otherwise.",
    schema: { type: "string", enum: ["true"] },
    example: "true",
  },
  "RateLimit-Policy": {
    description:
      "Requests that a key may make (q) in a window of seconds (w). On answers to a key that was looked up; a " +
      "request that is refused before that has none.",
    schema: { type: "string" },
    example: '"default";q=6000;w=60',
  },
  RateLimit: {
    description: "Requests that are left in this window (r), and seconds until it is whole again (t).",
    schema: { type: "string" },
    example: '"default";r=5958;t=17',
  },
  "Retry-After": {
    description: "Whole seconds to wait before the same request is sent again.",
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  "Set-Cookie": {
    description: "The session's cookie, out of reach for scripts. With Max-Age=0 it is taken back.",
    schema: { type: "string" },
    example: EXAMPLE.sessionCookie,
  },
  "WWW-Authenticate": {
    description: "How the call is opened.",
    schema: { type: "string", enum: ["Bearer"] },
    example: "Bearer",
  },
} as const;

export type HeaderName = keyof typeof HEADERS;

export const TAGS = [
  { name: "Tenants", description: "Sign-up, and the tenant that a key belongs to." },
  { name: "API keys", description: "Keys and what each may do. Their secrets are shown once." },
  { name: "Sessions", description: "A browser's sign-in with a key, so that no key is kept in it." },
  { name: "Networks", description: "The chains that are read, and how far." },
  { name: "Assets", description: "The coins and tokens that count." },
  { name: "Addresses", description: "What is watched. A payment to one of them is a deposit." },
  { name: "Extended public keys", description: "What addresses are derived from, one for each order." },
  { name: "Deposits", description: "Payments that arrived, each once, and what became of them." },
  { name: "Ledger", description: "Balances by account, and the double entries they are the sum of." },
  { name: "Withdrawals", description: "Payments out, each made at most once." },
  { name: "Wallets", description: "The hot wallets that withdrawals are paid from, and who signs for them." },
  { name: "Reconciliation", description: "Chain, keys and ledger compared." },
  { name: "Audit log", description: "What callers did and tried, in a chain that shows what was changed in it." },
  { name: "Events", description: "Everything that happened, in order and without a gap." },
  { name: "Incidents", description: "What a person should look at, opened and closed by code." },
  { name: "Webhook endpoints", description: "Where events are sent, and what was delivered." },
  { name: "Backfills", description: "Past heights read again." },
  { name: "Policies", description: "When payments count, and what may be paid out." },
  { name: "Service", description: "Whether the service is ready." },
  { name: "Operator", description: "For whoever runs the service, with the operator's token." },
] as const;
