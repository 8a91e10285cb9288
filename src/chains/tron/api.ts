/**
 * The HTTP API of java-tron at one provider: a POST for each question, its name in the path. `wallet/` answers from the
 * newest block, `walletsolidity/` from the newest solid one. Nothing is repeated behind the caller's back.
 *
 * A key goes with the URL: in its path (`https://host/<key>`), or as the password of a user that is the name of the
 * vendor's header (`https://tron-pro-api-key:<key>@api.trongrid.io`); any other user and password are Basic authorization.
 */

import { ChainFault } from "../port.ts";
import { HttpExchange, type ProviderSettings } from "../rpc/http-exchange.ts";
import type { RpcFailure } from "../rpc/rpc-failure.ts";

/** TronGrid's, and those of vendors that serve many chains. */
const KEY_HEADERS = ["tron-pro-api-key", "x-api-key", "api-key"];
/** A block of 2 MB has some 4 MB as JSON, and its infos no more; answers are in memory several times while they are read. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export type TronAnswer =
  | { readonly ok: true; readonly body: unknown; readonly bytes: number }
  /** `message`: fit to be shown. */
  | { readonly ok: false; readonly failure: RpcFailure };

export class TronApi {
  /** Host and port. */
  readonly name: string;
  readonly #http: HttpExchange;
  #bytesRead = 0;

  /** @throws Error when the URL is none; the message does not show it. */
  constructor(provider: ProviderSettings) {
    this.#http = new HttpExchange({ maxBodyBytes: MAX_ANSWER_BYTES, keyHeaders: KEY_HEADERS, ...provider });
    this.name = this.#http.name;
  }

  /** Size of all answers so far. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** The body of the answer, an object or an array. @throws ChainFault */
  async ask(path: string, body: Readonly<Record<string, unknown>>): Promise<unknown> {
    const answer = await this.tell(path, body);
    if (answer.ok) return answer.body;
    const { kind, code, message } = answer.failure;
    // A key that is refused stays refused. 403 may as well be a limit of the vendor's.
    const mayPass = !(kind === "status" && code === 401);
    throw new ChainFault(`${this.name}: ${path}: ${message}`, mayPass, this.name);
  }

  /** The same, and a failure is an answer. An exception of the node's own is a failure of kind `rpc`. */
  async tell(path: string, body: Readonly<Record<string, unknown>>): Promise<TronAnswer> {
    const exchange = await this.#http.post(body, path);
    if (!exchange.ok) return exchange;
    this.#bytesRead += exchange.bytes;
    const error = errorIn(exchange.body);
    if (error === null) return exchange;
    return { ok: false, failure: { kind: "rpc", code: 0, message: this.clean(error) } };
  }

  /** Text that came from the provider, made fit for a message. */
  clean(text: string): string {
    return this.#http.clean(text);
  }
}

/** java-tron says `{"Error": "class ... : what"}` with status 200; TronGrid `{"success": false, "error": ...}`. */
function errorIn(body: unknown): string | null {
  if (typeof body !== "object" || body === null) return null;
  const error = "Error" in body ? body.Error : "error" in body ? body.error : undefined;
  if (error === undefined) return null;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? "an error");
}
