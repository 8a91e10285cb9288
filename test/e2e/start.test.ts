/**
 * What `npm start` promises: it comes up from nothing, keeps what it has over every kind of end, leaves
 * nothing behind, and says what is wrong when it cannot start.
 */

import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { probePort } from "../../scripts/ports.mjs";
import { scheduledOf } from "../../scripts/worker.mjs";
import { type Chain, chainAt, startAnvil } from "../support/anvil.ts";
import { freePort } from "../support/ports.ts";
import { launch, type Service, startService } from "../support/service.ts";

const PAYEE = "0x00000000000000000000000000000000000a11ce";

describe("one service, through all its ends", () => {
  let service: Service;
  let key: string;
  let tenantId: string;

  beforeAll(async () => {
    service = await startService({ fromNothing: true });
  });
  afterAll(() => service.stop());

  const chain = (): Chain => {
    if (service.chainUrl === null) throw new Error("the service has no chain of its own");
    return chainAt(service.chainUrl);
  };
  const isStillThere = async () => {
    const answer = await service.api<{ id: string }>("GET", "/v1/tenant", { key });
    expect([answer.status, answer.body.id]).toEqual([200, tenantId]);
  };

  it("answers, and says how to try it", async () => {
    expect((await service.api("GET", "/healthz")).status).toBe(200);
    expect(service.output()).toContain(`Sluice listens on ${service.url}`);
    expect(service.output()).toContain(service.dataDir);
    expect(service.output().match(/^ {2}.*curl /gm)).toHaveLength(5);
    expect(await chain().rpc("eth_chainId")).toBe("0x7a69");
    ({ key, tenantId } = await service.signUp());
    await isStillThere();
  });

  it("fires the Worker's cron, which looks for scanners that do not wake up", async () => {
    const fired = await fetch(scheduledOf(service.url));
    expect(await fired.json()).toMatchObject({ outcome: "ok" });
    expect(service.output()).not.toContain("cron:");
  });

  it("keeps its secrets to its user, and off every command line", () => {
    expect(statSync(service.dataDir).mode & 0o777).toBe(0o700);
    for (const name of ["key-pepper", "operator-token", "wallet-seed", "secrets-key"]) {
      const path = join(service.dataDir, name);
      const secret = readFileSync(path, "utf8").trim();
      expect(statSync(path).mode & 0o777).toBe(0o600);
      if (name === "secrets-key") expect(secret).toMatch(/^1:[A-Za-z0-9+/]{43}=$/);
      else expect(Buffer.from(secret, "hex")).toHaveLength(32);
      expect(service.output()).not.toContain(secret);
      for (const pid of service.processes()) {
        expect(readFileSync(`/proc/${pid}/cmdline`, "latin1")).not.toContain(secret);
        expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain(secret);
      }
    }
  });

  it("lets the chain rest until it is used, then grow until payments have settled", async () => {
    const resting = await chain().height();
    await seconds(2.5);
    expect(await chain().height()).toBe(resting);
    await chain().pay(PAYEE, 1n);
    await until(async () => (await chain().height()) >= resting + 3);
    await chain().mine(24);
    await seconds(1.5);
    const settled = await chain().height();
    await seconds(2.5);
    expect(await chain().height()).toBe(settled);
  });

  it("leaves blocks alone while somebody else mines", async () => {
    await chain().rpc("evm_setAutomine", [false]);
    const hash = await chain().send({ to: PAYEE as `0x${string}`, value: 1n });
    const before = await chain().height();
    await seconds(2.5);
    expect(await chain().height()).toBe(before);
    await chain().mine();
    await chain().receipt(hash);
    await chain().rpc("evm_setAutomine", [true]);
  });

  it("ends on SIGTERM with code 0, within five seconds, leaving no process and no port", async () => {
    const processes = service.processes();
    expect(processes.length).toBeGreaterThanOrEqual(4);
    const from = Date.now();
    expect(await service.terminate()).toBe(0);
    expect(Date.now() - from).toBeLessThan(5_000);
    expect(service.processes()).toEqual([]);
    // An orphan counts until the system has collected it.
    await until(() => !processes.some(isAlive));
    expect(await probePort("127.0.0.1", service.port)).toEqual({ port: service.port });
    await service.restart();
    await isStillThere();
  });

  it("goes on after kill -9 of everything", async () => {
    await chain().pay(PAYEE, 1n);
    const before = await tip(chain());
    await seconds(1);
    await service.kill9();
    await service.restart();
    await isStillThere();
    expect(await blockHash(chain(), before.height)).toBe(before.hash);
  });

  it("goes on at once after kill -9 of the start script alone", async () => {
    const before = await tip(chain());
    await service.killParent();
    await service.restart();
    await isStillThere();
    expect(await blockHash(chain(), before.height)).toBe(before.hash);
  });

  it("takes its children along when the start script is killed and nobody starts again", async () => {
    await service.killParent();
    await until(() => service.processes().length === 0);
    await service.restart();
    await isStillThere();
  });

  it("refuses a second start on the same data, and does not disturb the first", async () => {
    const second = launch(await freePort(), service.dataDir, {});
    await expect(second.ready).rejects.toThrow(/already running on .* \(process \d+\).*DATA_DIR/s);
    expect(await second.exited).toBe(1);
    await isStillThere();
  });

  it("stands beside another on the same machine", async () => {
    const other = await startService();
    try {
      expect(other.chainUrl).not.toBe(service.chainUrl);
      const stranger = await other.signUp();
      expect((await other.api("GET", "/v1/tenant", { key: stranger.key })).status).toBe(200);
      expect((await service.api("GET", "/v1/tenant", { key: stranger.key })).status).toBe(401);
      await isStillThere();
    } finally {
      await other.stop();
    }
    await isStillThere();
  });

  it("ends as a whole, and says so, when a part of it dies", async () => {
    for (const [name, says] of [
      ["workerd", /The Workers runtime was killed or crashed/],
      ["anvil", /The local chain ended unexpectedly/],
    ] as const) {
      const victim = service
        .processes()
        .find((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0")[0]?.endsWith(`/bin/${name}`));
      process.kill(victim ?? 0, "SIGKILL");
      expect(await service.exited()).toBe(1);
      expect(service.output()).toMatch(says);
      expect(service.processes()).toEqual([]);
      await service.restart();
      await isStillThere();
    }
  });
});

describe("other ways to start and end", () => {
  it("ends with the npm that runs it, whoever ends that and how", async () => {
    const service = await startService({ command: ["npm", "start"] });
    try {
      // A Ctrl-C reaches start script and npm, which passes it on once more.
      expect(await service.interrupt()).toBe(0);
      expect(service.processes()).toEqual([]);
      await service.restart();
      // npm alone.
      expect(await service.terminate()).toBe(0);
      expect(service.processes()).toEqual([]);
      await service.restart();
      // npm alone, without a chance to pass it on; and the next start comes at once.
      await service.killParent();
      await service.restart();
      expect((await service.api("GET", "/healthz")).status).toBe(200);
    } finally {
      await service.stop();
    }
  });

  it("uses the chain it is given and starts none of its own", async () => {
    const anvil = await startAnvil();
    const service = await startService({ environment: { RPC_LOCAL: anvil.url } });
    try {
      expect(service.chainUrl).toBeNull();
      expect((await service.api("GET", "/healthz")).status).toBe(200);
      const commands = service.processes().map((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1"));
      expect(commands.filter((command) => command.includes("anvil"))).toEqual([]);
    } finally {
      await service.stop();
      await anvil.stop();
    }
  });
});

describe("what cannot start", () => {
  it("names a port that is taken", async () => {
    const port = await freePort();
    const squatter = createServer().listen(port, "127.0.0.1");
    try {
      await expect(startService({ port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use by another program.`);
    } finally {
      squatter.close();
    }
  });

  it("refuses a PORT that is none", async () => {
    const refused = launch(await freePort(), "/nonexistent", { PORT: "http" });
    await expect(refused.ready).rejects.toThrow('PORT must be a number from 0 to 65535, got "http"');
  });

  it("shows the service's own reasons for refusing its settings", async () => {
    const refusal = startService({
      environment: { NETWORKS: '{"local":{"confirmation":3}}', KEY_PEPPER: "short", WALLET_SEED: "not hex" },
    });
    await expect(refusal).rejects.toThrow("The service does not become ready: GET /healthz answers 503.");
    await expect(refusal).rejects.toThrow(/NETWORKS: local: unknown key "confirmation"/);
    await expect(refusal).rejects.toThrow(/KEY_PEPPER: too short/);
    await expect(refusal).rejects.toThrow(/WALLET_SEED: is not hex/);
    await expect(refusal).rejects.toThrow("ended with 1:");
  });
});

async function tip(chain: Chain): Promise<{ height: number; hash: string }> {
  const block = await chain.rpc<{ number: string; hash: string }>("eth_getBlockByNumber", ["latest", false]);
  return { height: Number(block.number), hash: block.hash };
}

async function blockHash(chain: Chain, height: number): Promise<string | undefined> {
  return (await chain.rpc<{ hash: string } | null>("eth_getBlockByNumber", [`0x${height.toString(16)}`, false]))?.hash;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * 1_000));
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error("it did not come to hold within 20 s");
    await seconds(0.05);
  }
}
