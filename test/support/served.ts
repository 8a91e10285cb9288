/**
 * The running service of one test file, as every stage has it: merchants are opened there, all its processes are killed
 * and started anew, and all that it printed is kept over every restart. Whatever a stage began is ended with it, the last
 * first, also when it does not come to stand.
 */

import { type Merchant, openMerchant } from "./merchant.ts";
import { type Service, startService } from "./service.ts";

/** As the operator sees it. */
export interface ScannerView {
  readonly scanned_to: number | null;
  readonly status: "ok" | "lagging" | "halted";
  readonly internal: string;
  readonly incident: { readonly id: string; readonly reason: string } | null;
  readonly counters: Readonly<Record<string, number>>;
  readonly last_error: string | null;
}

export type NetworkOverrides = Readonly<Record<string, number | string | boolean>>;

export interface ServedNetwork {
  /** The first is asked first. */
  readonly providers: readonly { readonly url: string; readonly secret: string }[];
  readonly settings: object;
}

export interface Served {
  readonly service: Service;
  merchant(name: string): Promise<Merchant>;
  operate(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  viewOf(network: string): Promise<ScannerView>;
  /** kill -9 of every process of the service. */
  kill(): Promise<void>;
  /** Starts it again on its data. Nothing asks it for anything but its health. */
  restart(): Promise<void>;
  /** All that the service printed so far. */
  printed(): string;
  /** What must never be printed. */
  secrets(): string[];
}

export interface Ended {
  stop(): Promise<void>;
}

/** @param build begins things, and adds for each what ends it */
export async function staged<Stage>(build: (ends: (() => Promise<void>)[]) => Promise<Stage>): Promise<Stage & Ended> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    return { ...(await build(ends)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param networks by id. Without `local` among them there is no local chain either. */
export async function serve(
  ends: (() => Promise<void>)[],
  networks: Readonly<Record<string, ServedNetwork>>,
): Promise<Served> {
  const all = Object.entries(networks);
  const urls = all.map(([id, { providers }]) => [
    `RPC_${id.toUpperCase().replaceAll("-", "_")}`,
    providers.map(({ url }) => url).join(","),
  ]);
  const settings = Object.fromEntries(all.map(([id, network]) => [id, network.settings]));
  const merchants: Merchant[] = [];
  ends.push(async () => {
    for (const merchant of merchants) await merchant.close();
  });
  const service = await startService({
    environment: { RPC_LOCAL: "", ...Object.fromEntries(urls), NETWORKS: JSON.stringify(settings) },
  });
  ends.push(() => service.stop());
  const { operatorToken, walletSeed } = service;
  let earlier = "";

  async function operate(method: string, path: string, body?: unknown) {
    return service.api(method, path, { key: operatorToken, ...(body === undefined ? {} : { body }) });
  }

  return {
    service,
    operate,
    async merchant(name) {
      const merchant = await openMerchant(service, name);
      merchants.push(merchant);
      return merchant;
    },
    async viewOf(network) {
      const { status, body } = await operate("GET", `/v1/operator/networks/${network}`);
      if (status !== 200) throw new Error(`network ${network}: ${status} ${JSON.stringify(body)}`);
      return body as ScannerView;
    },
    kill: () => service.kill9(),
    async restart() {
      earlier += service.output();
      await service.restart();
    },
    // What the terminal does not show is in the log's file.
    printed: () => earlier + service.output() + service.log(),
    secrets: () => [
      operatorToken,
      walletSeed,
      ...all.flatMap(([, { providers }]) => providers.map(({ secret }) => secret)),
      ...merchants.flatMap(({ key, webhookSecret }) => [key, webhookSecret]),
    ],
  };
}

/** Secrets of the stage, and others, that were printed; and what is too short to be looked for. */
export function leaked(stage: Pick<Served, "printed" | "secrets">, others: readonly string[] = []): string[] {
  const printed = stage.printed();
  return [...stage.secrets(), ...others].filter((secret) => secret.length < 20 || printed.includes(secret));
}
