/** The calls about webhook endpoints: a merchant's, and what an endpoint's own object says. */

import type { Caller, EndpointState, Idempotency, PageRequest, TenantApi } from "../api.ts";
import * as sends from "./endpoint-sends.ts";
import { disableEndpoint, enableEndpoint, hearEndpoint } from "./endpoint-status.ts";
import * as endpoints from "./endpoints.ts";
import { TenantWithdrawals } from "./withdrawal-calls.ts";

export abstract class TenantEndpoints extends TenantWithdrawals {
  async endpointStatus(endpointId: string, state: EndpointState): Promise<void> {
    hearEndpoint(this.c, this.tenantId(), endpointId, state);
    this.followUpSoon();
  }

  async createEndpoint(caller: Caller, input: Parameters<TenantApi["createEndpoint"]>[1], idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["createWebhookEndpoint", null], () =>
      endpoints.createEndpoint(this.c, caller.tenantId, input, idempotency),
    );
  }

  async listEndpoints(caller: Caller, page: PageRequest) {
    return this.serve(caller, "read", () => endpoints.pageOfEndpoints(this.c, page));
  }

  async getEndpoint(caller: Caller, id: string) {
    return this.serve(caller, "read", () => endpoints.oneEndpoint(this.c, id));
  }

  async updateEndpoint(caller: Caller, id: string, patch: Parameters<TenantApi["updateEndpoint"]>[2]) {
    return this.change(caller, "webhooks:write", ["updateWebhookEndpoint", id], (_, audit) =>
      endpoints.patchEndpoint(this.c, caller.tenantId, id, patch, audit, () => this.followUpLater()),
    );
  }

  async deleteEndpoint(caller: Caller, id: string) {
    return this.change(caller, "webhooks:write", ["deleteWebhookEndpoint", id], (_, audit) => {
      this.followUpLater();
      return endpoints.deleteEndpoint(this.c, caller.tenantId, id, audit);
    });
  }

  async rotateEndpointSecret(caller: Caller, id: string, overlapS: number, idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["rotateWebhookSecret", id], (_, audit) =>
      endpoints.rotateSecret(this.c, caller.tenantId, id, overlapS, idempotency, caller.requestId, audit),
    );
  }

  async enableEndpoint(caller: Caller, id: string, idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["enableWebhookEndpoint", id], async (_, audit) => {
      const done = await enableEndpoint(this.c, caller.tenantId, id, idempotency, audit);
      this.followUpSoon();
      return done;
    });
  }

  async disableEndpoint(caller: Caller, id: string, idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["disableWebhookEndpoint", id], async (_, audit) => {
      const done = await disableEndpoint(this.c, caller.tenantId, id, idempotency, audit);
      this.followUpSoon();
      return done;
    });
  }

  async testEndpoint(caller: Caller, id: string, idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["testWebhookEndpoint", id], () => {
      const done = sends.testEndpoint(this.c, caller.tenantId, id, idempotency);
      this.followUpSoon();
      return done;
    });
  }

  async replayEvents(
    caller: Caller,
    id: string,
    from: { readonly afterSequence: number } | { readonly since: number },
    idempotency: Idempotency,
  ) {
    return this.change(caller, "webhooks:write", ["replayWebhookEvents", id], (_, audit) =>
      sends.replayEvents(this.c, id, from, idempotency, audit),
    );
  }

  async listDeliveries(
    caller: Caller,
    id: string,
    filter: { readonly status?: "pending" | "delivered" | "given_up" },
    page: PageRequest,
  ) {
    return this.serve(caller, "read", () => sends.pageOfDeliveries(this.c, id, filter, page));
  }

  async resendDelivery(caller: Caller, id: string, deliveryId: string, idempotency: Idempotency) {
    return this.change(caller, "webhooks:write", ["resendWebhookDelivery", deliveryId], (_, audit) =>
      sends.resendDelivery(this.c, id, deliveryId, idempotency, audit),
    );
  }
}
