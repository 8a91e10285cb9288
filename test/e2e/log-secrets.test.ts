/**
 * No secret leaves the service by its log, an answer or an event, in whatever spelling. Each one there is, is planted
 * as a canary, and then everything that can fail is made to fail: providers, receivers, signers, requests.
 */

import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../support/ports.ts";
import { type Service, startService } from "../support/service.ts";

const random = (n: number) => crypto.getRandomValues(new Uint8Array(n));
const hex = (n: number) => Buffer.from(random(n)).toString("hex");
/** With what a URL spells otherwise. */
const word = () => `${hex(8)}/${hex(4)}+${hex(6)}`;

const canaries = new Map<string, string>();
function plant(name: string, text: string): string {
  canaries.set(name, text);
  return text;
}

/** The texts under which a secret may leave: as it is, in a URL, in base64 of any alignment, and in hex. */
function spellings(text: string): string[] {
  const bytes = Buffer.from(text);
  const aligned = [0, 1, 2].map((shift) => {
    const base64 = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // The first and last signs depend on what stands beside it.
    return base64.slice(shift === 0 ? 0 : 4, -1);
  });
  const spelt = [text, encodeURIComponent(text), bytes.toString("hex"), ...aligned];
  return [...new Set([...spelt, ...spelt.map((one) => JSON.stringify(one).slice(1, -1))])];
}

const said: string[] = [];
const ownBodies = new Set<string>();
let service: Service;
const servers: Server[] = [];
const hooks: string[] = [];

/** Fails in the words of its client: whatever it was sent stands in its answer. */
async function echo(path: string): Promise<string> {
  const port = await freePort();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      if (path === "hook") hooks.push(body);
      const told = `${request.url} ${request.headers.authorization} refused: ${path === "hook" ? "" : body}`;
      response.writeHead(path === "rpc" ? 200 : 500, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32_000, message: told } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  servers.push(server);
  return `127.0.0.1:${port}`;
}

beforeAll(async () => {
  const [rpc, hook] = [await echo("rpc"), await echo("hook")];
  const key = encodeURIComponent(plant("rpc path", word()));
  const password = encodeURIComponent(plant("rpc password", word()));
  const query = encodeURIComponent(plant("rpc query", word()));
  const url = `http://user:${password}@${rpc}/v3/${key}?key=${query}`;
  const bare = `http://${rpc}/v3/${key}?key=${query}`;
  service = await startService({
    environment: {
      KEY_PEPPER: plant("pepper", hex(24)),
      OPERATOR_TOKEN: plant("operator token", hex(24)),
      WALLET_SEED: plant("wallet seed", hex(32)),
      SECRETS_KEY: `1:${plant("root key", Buffer.from(random(32)).toString("base64"))}`,
      RPC_ETHEREUM: url,
      RPC_BITCOIN: bare,
      RPC_TRON: bare,
      RPC_SOLANA: bare,
    },
  });
  const { key: apiKey } = await service.signUp();
  plant("api key", apiKey);
  ownBodies.add(hook);
}, 120_000);
afterAll(async () => {
  await service?.stop();
  for (const server of servers) server.close();
});

async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const key = canaries.get("api key") ?? "";
  const answer = await service.api<Record<string, unknown>>(method, path, {
    key,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  said.push(
    `${JSON.stringify(answer.body)}\n${[...answer.headers].filter(([name]) => name !== "set-cookie").join("\n")}`,
  );
  return answer;
}

it("whatever fails", { timeout: 120_000 }, async () => {
  const [hook = ""] = ownBodies;
  const path = encodeURIComponent(plant("webhook path", word()));
  const endpoint = await service.api<{ id: string; secret: string }>("POST", "/v1/webhook-endpoints", {
    key: canaries.get("api key") ?? "",
    body: { url: `http://${hook}/hook` },
  });
  plant("webhook secret", endpoint.body.secret);
  const session = await service.api("POST", "/v1/session", { key: canaries.get("api key") ?? "" });
  const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
  plant("session", cookie.split("=")[1] ?? "");
  const signer = {
    type: "remote",
    url: `http://${hook}/${path}`,
    address: `0x${"1".repeat(40)}`,
    token: plant("signer token", word()),
  };
  await ask("PUT", "/v1/wallets/ethereum/signer", signer);
  const metadata = { password: plant("metadata", word()) };
  for (const network of ["ethereum", "bitcoin", "tron", "solana"]) {
    await ask("GET", `/v1/networks?network=${network}`);
    await ask("POST", "/v1/assets", { network, contract: `0x${"a".repeat(40)}` });
    await ask("POST", "/v1/addresses", { network, address: `0x${"b".repeat(40)}`, start_height: 1 });
    const wanted = { network, asset: "ETH", destination: `0x${"c".repeat(40)}`, amount: "1", metadata };
    await ask("POST", "/v1/withdrawals", wanted, { "idempotency-key": `k-${network}` });
    await ask("POST", "/v1/withdrawals/estimate", wanted);
    await ask("POST", "/v1/backfills", { network, from_height: 1, to_height: 2 });
  }
  await ask("POST", "/v1/addresses", `{"network": "${canaries.get("metadata")}", oops`);
  await ask("GET", `/v1/deposits?cursor=${path}`);
  await ask("GET", `/v1/${path}`);
  await ask("POST", "/v1/reconciliation");
  await ask("GET", "/v1/wallets");
  await ask("POST", `/v1/webhook-endpoints/${endpoint.body.id}/test`);
  await ask("POST", `/v1/webhook-endpoints/${endpoint.body.id}/rotate-secret`).then(({ body }) => {
    // Shown here, and to nobody else.
    said.pop();
    plant("rotated secret", String(body.secret));
  });
  const byOperator = { authorization: `Bearer ${service.operatorToken}` };
  said.push(JSON.stringify((await service.api("GET", "/v1/operator/networks/ethereum", { headers: byOperator })).body));
  said.push(String((await service.api("GET", "/metrics", { headers: byOperator })).body));
  await service.api("POST", "/v1/operator/networks/ethereum/resume", { headers: byOperator });
  await service.api("DELETE", "/v1/session", { headers: { cookie, origin: service.url } });
  await service.api("GET", "/v1/tenant", { headers: { authorization: `Bearer ${canaries.get("api key")}x` } });
  for (const bad of ["/v1/events?after=0", "/v1/audit-log", "/v1/webhook-endpoints"]) await ask("GET", bad);
  await ask("GET", `/v1/webhook-endpoints/${endpoint.body.id}/deliveries`);
  await expect.poll(() => hooks.length, { timeout: 20_000 }).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 3_000));

  const lines = service.log().trimEnd().split("\n");
  const everything = [...lines, ...said, ...hooks, service.output()];
  const found = [...canaries].flatMap(([name, text]) => {
    expect([name, text.length > 15]).toEqual([name, true]);
    return spellings(text).flatMap((spelt) =>
      everything.filter((one) => one.includes(spelt)).map((one) => `${name}: ${one.slice(0, 600)}`),
    );
  });
  expect(found).toEqual([]);

  // And the log is one: each line JSON, bounded, with what every line has; and it tells of the failures.
  const read = lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(read.length / lines.length).toBeGreaterThan(0.9);
  for (const line of lines) expect(line.length).toBeLessThan(5_000);
  for (const line of read)
    expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String), event: expect.any(String) });
  const events = new Set(read.map(({ event }) => event));
  expect([...events]).toEqual(expect.arrayContaining(["request", "provider_failed", "network_resumed_by_operator"]));
  const request = read.find(({ route }) => route === "/v1/withdrawals");
  expect(request).toMatchObject({
    method: "POST",
    status: expect.any(Number),
    tenant: expect.stringMatching(/^ten_/),
    key_id: expect.stringMatching(/^key_/),
    client: "127.0.0.1",
    via: "api_key",
  });
  // The terminal of a developer gets what is wrong, and not every request.
  expect(service.output()).not.toContain('"level":"info"');
});
