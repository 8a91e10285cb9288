/** What the scanners say of themselves. One that is slow or broken is missing here; it delays nobody. */

import { log } from "../log.ts";
import type { ScannerStatus } from "../objects/api.ts";
import type { Services } from "./services.ts";

const STATUS_DEADLINE_MS = 2_000;

/** The status of every network that is on, asked at the same time; null for one that did not answer. */
export async function scannerStatuses(services: Services): Promise<ReadonlyMap<string, ScannerStatus | null>> {
  const ids = [...services.settings.networks.keys()];
  return new Map(await Promise.all(ids.map(async (id) => [id, await statusOrNull(services, id)] as const)));
}

async function statusOrNull(services: Services, network: string): Promise<ScannerStatus | null> {
  try {
    return await within(STATUS_DEADLINE_MS, services.scanner(network).status());
  } catch (thrown) {
    log("error", "status_unknown", { network }, thrown);
    return null;
  }
}

/** The answer, or a rejection when it is not there in time. The work itself is not stopped. */
export async function within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${deadlineMs} ms`), { retryable: true }));
    }, deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}
