/** Incidents: what a person should look at, opened and closed by code. */

import { z } from "@hono/zod-openapi";
import { INCIDENT_KINDS, runbookOf, TENANT_INCIDENT_KINDS } from "../core/incident.ts";
import { EXAMPLE } from "./examples.ts";
import { maybe, NetworkId, timeOf } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const TenantKind = z.enum(TENANT_INCIDENT_KINDS).openapi({ description: "What kind of trouble it is." });
const Kind = z.enum(INCIDENT_KINDS).openapi({ description: "What kind of trouble it is." });
const Status = z.enum(["open", "closed"]).openapi({ description: "closed: it has been well for long enough." });

export const INCIDENT_EXAMPLE = {
  id: EXAMPLE.incident,
  kind: "wallet_short" as const,
  subject: `ethereum/${EXAMPLE.wallet}`,
  network: "ethereum",
  status: "open" as const,
  opened_at: "2026-01-31T12:10:00.000Z",
  closed_at: null,
  summary: `The hot wallet ${EXAMPLE.wallet} on ethereum holds less than what waits for it: it must be topped up.`,
  evidence: { wallet: EXAMPLE.wallet, withdrawals: 2, waiting_ETH: "1.5" },
  runbook: runbookOf("wallet_short"),
};

const fields = {
  id: z.string().openapi({ description: "One for each time: what comes back after it was closed is another." }),
  subject: z.string().openapi({
    description: "What it is about: a network's, a withdrawal's or an endpoint's id, or network/address of a wallet.",
  }),
  network: z.string().nullable().openapi({ description: "The network's id; null: it is of none." }),
  status: Status,
  opened_at: timeOf("When it was opened."),
  closed_at: timeOf("When it was closed; null: it is open.").nullable(),
  summary: z.string().openapi({ description: "What is the matter, in a sentence." }),
  evidence: z
    .record(z.string(), z.union([z.string(), z.number(), z.null()]))
    .openapi({ description: "What shows it, as it stood when it was last looked at. The names depend on the kind." }),
  runbook: z.string().openapi({ description: "The page of the documentation that says what to do." }),
};

export const IncidentSchema = z
  .object({ ...fields, kind: TenantKind })
  .openapi("Incident", { example: INCIDENT_EXAMPLE });

export const OperatorIncident = z
  .object({
    ...fields,
    kind: Kind,
    tenant_id: z.string().nullable().openapi({ description: "Whose it is; null: the service's own." }),
  })
  .openapi("OperatorIncident", { example: { ...INCIDENT_EXAMPLE, tenant_id: EXAMPLE.tenant } });

export const IncidentPage = pageOf(IncidentSchema, "Incident");
export const OperatorIncidentPage = pageOf(OperatorIncident, "OperatorIncident");

const filter = { status: maybe(Status), network: maybe(NetworkId), limit: Limit, cursor: maybe(Cursor) };

export const IncidentQuery = z.strictObject({ kind: maybe(TenantKind), ...filter });

export const OperatorIncidentQuery = z.strictObject({
  kind: maybe(Kind),
  tenant_id: maybe(
    z
      .string()
      .regex(/^ten_[0-9a-z]{1,60}$/, "expected a tenant's id")
      .openapi({ description: "One tenant's alone." }),
  ),
  ...filter,
});
