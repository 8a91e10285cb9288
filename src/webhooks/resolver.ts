/**
 * Owns the question which addresses a name has, asked of a resolver over HTTPS (RFC 8484).
 *
 * Never throws, and always ends. Nothing is kept between two questions: an answer that is a minute old says
 * nothing about where a name leads now. POST, so that no cache of HTTP keeps one either.
 */

import { step } from "../steps.ts";
import { startDeadline } from "./deadline.ts";
import {
  type AddressType,
  type DnsAnswer,
  encodeQuestion,
  NAME_ERROR,
  NO_ERROR,
  parseAnswer,
  TYPE_A,
  TYPE_AAAA,
} from "./dns-message.ts";

/** Both questions are asked at once, so this is also how long a look-up takes at most. */
export const LOOK_UP_DEADLINE_MS = 5_000;
/** The longest message there is (RFC 8484, section 6). */
const MAX_MESSAGE_BYTES = 65_535;
const MEDIA_TYPE = "application/dns-message";
const QUESTIONS = [TYPE_A, TYPE_AAAA] as const;

/** Response codes that are no answer (RFC 1035, 4.1.1). */
const CODE_NAMES: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" };

export type Send = (url: string, init: RequestInit) => Promise<Response>;

export interface LookUp {
  /** What came back, IPv4 and IPv6; not all of it when there is a `failure`. */
  readonly addresses: readonly string[];
  /** Why one of the two questions has no answer, in words that show nothing of the resolver's URL; null: both have. */
  readonly failure: string | null;
}

/** @param resolver the URL that takes questions by POST @param name a host name in ASCII, at most 253 characters */
export async function lookUp(
  name: string,
  resolver: string,
  send: Send,
  deadlineMs = LOOK_UP_DEADLINE_MS,
): Promise<LookUp> {
  const answers = await Promise.all(QUESTIONS.map((type) => ask(name, type, resolver, send, deadlineMs)));
  return {
    addresses: answers.flatMap((answer) => (typeof answer === "string" ? [] : answer.addresses)),
    failure: answers.find((answer) => typeof answer === "string") ?? null,
  };
}

/** @returns the answer, or why there is none */
async function ask(
  name: string,
  type: AddressType,
  resolver: string,
  send: Send,
  deadlineMs: number,
): Promise<DnsAnswer | string> {
  const deadline = startDeadline(deadlineMs);
  try {
    const init = {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": MEDIA_TYPE, accept: MEDIA_TYPE },
      body: encodeQuestion(name, type),
      signal: deadline.signal,
    } as const;
    const response = await deadline.orPassed(step("resolver", () => send(resolver, init)));
    const message = await deadline.orPassed(readMessage(response));
    if (typeof message === "string") return message;
    const answer = parseAnswer(message, name, type);
    if (answer === null) return "the resolver's message is not an answer to the question";
    if (answer.code === NO_ERROR || answer.code === NAME_ERROR) return answer;
    return `the resolver answered ${CODE_NAMES[answer.code] ?? `with code ${answer.code}`}`;
  } catch {
    return deadline.signal.aborted ? `the resolver did not answer in ${deadlineMs} ms` : "the resolver is out of reach";
  } finally {
    deadline.end();
  }
}

/** @returns the body, or why it is not read */
async function readMessage(response: Response): Promise<Uint8Array | string> {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "nothing";
  const fault =
    response.status !== 200
      ? `the resolver answered HTTP ${response.status}`
      : type !== MEDIA_TYPE
        ? `the resolver answered with ${type.slice(0, 50)}, not ${MEDIA_TYPE}`
        : null;
  const reader = response.body?.getReader();
  if (reader === undefined) return fault ?? new Uint8Array(0);
  const message = new Uint8Array(MAX_MESSAGE_BYTES);
  let length = 0;
  while (fault === null) {
    const { done, value } = await reader.read();
    if (done) return message.subarray(0, length);
    if (length + value.length > MAX_MESSAGE_BYTES) break;
    message.set(value, length);
    length += value.length;
  }
  // Not waited for: a stranger must not decide how long it takes.
  reader.cancel().catch(() => {});
  return fault ?? `the resolver's message is longer than ${MAX_MESSAGE_BYTES} bytes`;
}
