/** Networks: the settings, what the scanner has read, and what the tenant added, in one view. */

import { createRoute } from "@hono/zod-openapi";
import type { NetworkSettings } from "../../core/network.ts";
import type { AssetView, NetworkView } from "../../core/views.ts";
import type { ScannerStatus } from "../../objects/api.ts";
import { NetworkPage } from "../../schema/network.ts";
import { PageQuery } from "../../schema/page.ts";
import { mapAnswer, send } from "../answers.ts";
import { json, keyed, needs, problems } from "../calls.ts";
import { filterAndPage, slicePage } from "../pages.ts";
import { scannerStatuses } from "../scanners.ts";
import type { App } from "../services.ts";

const listNetworks = createRoute({
  method: "get",
  path: "/v1/networks",
  operationId: "listNetworks",
  tags: ["Networks"],
  summary: "List networks, how far each was read, and what counts there",
  description:
    "The networks that are on, in one list: how far each was read, how deep a payment must be, and which " +
    "assets count there for you. A network whose scanner does not answer is shown as lagging.",
  ...needs("read"),
  ...keyed,
  request: { query: PageQuery },
  responses: { 200: json(NetworkPage, "Networks"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

export function networkRoutes(app: App): void {
  app.openapi(listNetworks, async (c) => {
    const { services, tenant, caller } = c.var;
    const { page } = filterAndPage(c.req.valid("query"));
    const facts = await tenant.networkFacts(caller);
    // Only a caller whom the tenant's object let in makes the scanners work.
    const statuses = facts.ok ? await scannerStatuses(services) : new Map<string, null>();
    const answer = mapAnswer(facts, ({ assets, duplicatesMet }) => {
      const views = [...services.settings.networks.values()].map(({ settings }) => {
        const own = assets.filter((asset) => asset.network === settings.id);
        return networkView(settings, statuses.get(settings.id) ?? null, own, duplicatesMet[settings.id] ?? 0);
      });
      return slicePage(views, (view) => view.id, page);
    });
    return send(c, answer, 200);
  });
}

/** `status` is null when the scanner did not answer: then nothing is claimed but that it lags. */
function networkView(
  settings: NetworkSettings,
  status: ScannerStatus | null,
  assets: AssetView[],
  duplicatesMet: number,
): NetworkView {
  return {
    id: settings.id,
    caip2: settings.caip2,
    family: settings.family,
    native_asset: { symbol: settings.nativeAsset.symbol, decimals: settings.nativeAsset.decimals },
    head: status?.head ?? null,
    scanned_to: status?.scannedTo ?? null,
    finalized: status?.finalized ?? null,
    status: status?.status ?? "lagging",
    confirmations: settings.finality === "depth" ? settings.confirmations : null,
    finality: settings.finality,
    native_transfers: { own_value: settings.native, internal: status?.internal ?? "unknown" },
    duplicates_met: duplicatesMet,
    assets,
  };
}
