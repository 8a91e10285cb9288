/**
 * Owns: the sandbox's door on this machine: one listener on loopback. Any page in any browser can knock at it, so the
 * calls of the sandbox itself are let in with the token of the parent alone, and nothing is that comes from a page.
 */

import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answered, answer, type World } from "./control.ts";
import { bodyOf } from "./rpc-proxy.ts";

export const HOST = "127.0.0.1";
export const TOKEN_HEADER = "x-sluice-sandbox";
export const TENANT_HEADER = "x-sluice-tenant";
const CONTROL = "/control";
const RPC = "/rpc";
const MAX_BODY_BYTES = 64 * 1024;
/** Above what Linux takes for outgoing connections: free again after a restart. */
const PORTS = { first: 61_000, count: 4_000, tried: 50 } as const;

/** @param wanted the port of last time; null: any */
export async function listen(server: Server, wanted: number | null): Promise<number> {
  const others = Array.from({ length: PORTS.tried }, () => PORTS.first + Math.floor(Math.random() * PORTS.count));
  for (const port of [...(wanted === null ? [] : [wanted]), ...others, 0]) {
    if (await listensOn(server, port)) return (server.address() as AddressInfo).port;
  }
  throw new Error("no port is free for the sandbox");
}

function listensOn(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const refused = () => resolve(false);
    server.once("error", refused);
    server.listen({ host: HOST, port, exclusive: true }, () => {
      server.off("error", refused);
      resolve(true);
    });
  });
}

export interface Secrets {
  /** The parent's; without it no call of the sandbox is let in. */
  readonly control: string;
  /** A part of the URL that the service asks its chain at. */
  readonly rpc: string;
}

/** @param world null until it is made */
export function serverOf(secrets: Secrets, world: () => World | null): Server {
  return createServer({ keepAliveTimeout: 60_000 }, (message, response) => {
    serve(message, response, secrets, world()).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
      console.error(`sandbox: ${message.method}: ${error instanceof Error ? error.message : String(error)}`);
    });
  });
}

async function serve(
  message: IncomingMessage,
  response: ServerResponse,
  secrets: Secrets,
  world: World | null,
): Promise<void> {
  if (world === null) return refuse(response, 503);
  if (isOfPage(message)) return refuse(response, 403);
  const url = new URL(message.url ?? "/", `http://${HOST}`);
  if (url.pathname === `${RPC}/${secrets.rpc}` && message.method === "POST")
    return world.proxy.serve(message, response);
  if (url.pathname.startsWith("/hooks/")) return world.receiver.serve(message, response, url.pathname);
  if (!url.pathname.startsWith(`${CONTROL}/`) || !isParent(message, secrets.control)) return refuse(response, 404);
  const tenantId = message.headers[TENANT_HEADER];
  const text = await bodyOf(message, MAX_BODY_BYTES);
  const answered = await answer(world, {
    method: message.method ?? "",
    path: url.pathname.slice(CONTROL.length),
    query: url.searchParams,
    tenantId: typeof tenantId === "string" ? tenantId : null,
    body: text === "" ? null : JSON.parse(text),
  });
  send(response, answered);
}

export function controlUrl(port: number): string {
  return `http://${HOST}:${port}${CONTROL}`;
}

export function rpcUrl(port: number, secret: string): string {
  return `http://${HOST}:${port}${RPC}/${secret}`;
}

/**
 * A browser says which page a request comes from, and a name that a page led here by DNS is in the Host. The service
 * and webhooks say neither.
 */
function isOfPage({ headers, socket }: IncomingMessage): boolean {
  return (
    headers.host !== `${HOST}:${socket.localPort}` ||
    headers.origin !== undefined ||
    headers["sec-fetch-site"] !== undefined
  );
}

function isParent({ headers }: IncomingMessage, token: string): boolean {
  const shown = Buffer.from(String(headers[TOKEN_HEADER] ?? ""));
  const wanted = Buffer.from(token);
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}

function send(response: ServerResponse, { status, body }: Answered): void {
  if (body === undefined) response.writeHead(status).end();
  else response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
