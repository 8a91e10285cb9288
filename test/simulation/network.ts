/** The network outside: names and what answers under them. Requests and answers take their time, and get lost. */

import type { DrawnFates } from "./fates.ts";
import { afterTurn, leave } from "./world/objects.ts";
import type { World } from "./world/world.ts";

export interface Asked {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

export type Reply =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body: string;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: "unreachable" }
  /** Nothing ever comes back. */
  | { readonly kind: "silent" };

export type Host = (asked: Asked) => Promise<Reply> | Reply;

export class Network {
  readonly #world: World;
  readonly #fates: DrawnFates;
  readonly #hosts = new Map<string, Host>();

  constructor(world: World, fates: DrawnFates) {
    this.#world = world;
    this.#fates = fates;
    world.fetch = (input, init) => this.#fetch(new URL(String(input)), init ?? {});
  }

  serve(name: string, host: Host): void {
    this.#hosts.set(name, host);
  }

  #fetch(url: URL, { body, headers, signal }: RequestInit): Promise<Response> {
    const world = this.#world;
    const text = body === null || body === undefined ? "" : typeof body === "string" ? body : textOf(body);
    const what = `fetch ${url.hostname} ${/"method":"(\w+)"/.exec(text)?.[1] ?? ""}`;
    if (!leave(world, this.#fates, what)) return new Promise(() => {});
    const host = this.#hosts.get(url.hostname);
    return world.answer((resolve, reject) => {
      const aborted = () => reject(new DOMException("This operation was aborted", "AbortError"));
      if (signal?.aborted) return aborted();
      signal?.addEventListener("abort", aborted, { once: true });
      const arrive = async () => {
        const reply: Reply =
          host === undefined ? { kind: "unreachable" } : await host({ url, headers: new Headers(headers), body: text });
        if (reply.kind === "silent") return;
        world.later(this.#fates.latencyMs(), `${what} answers`, () => {
          if (reply.kind === "unreachable") return reject(new TypeError("fetch failed"));
          const { status } = reply;
          resolve(new Response(status === 204 ? null : reply.body, { status, headers: reply.headers ?? {} }));
        });
      };
      world.later(this.#fates.latencyMs(), what, afterTurn(world, arrive));
    });
  }
}

function textOf(body: NonNullable<RequestInit["body"]>): string {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  throw new Error("the product sends a body of a kind that is not known here");
}
