/** The tenant's policies: what may be paid out, what of that waits for its cool-down, and when payments count. */

import { useQuery } from "@tanstack/react-query";
import { sluice } from "../client.ts";
import { Answer } from "../design/answers.tsx";
import { PageHead } from "../design/layout.tsx";
import { useMay } from "../session.ts";
import { ConfirmationsCard } from "./policies/confirmations.tsx";
import { WithdrawalRulesCard } from "./policies/rules.tsx";

/** Policies have no events. */
const POLL_MS = 30_000;
/** What waits holds from its moment on, by the service's clock: asked for a moment later. */
const AFTER_MOMENT_MS = 1_000;

export function PoliciesPage() {
  const may = useMay("admin");
  const policies = useQuery({
    queryKey: ["policies"],
    queryFn: async () => await sluice.policies.get(),
    refetchInterval: ({ state: { data } }) => {
      const waits = data?.withdrawals.pending;
      if (waits === undefined || waits === null) return POLL_MS;
      return Math.min(POLL_MS, Math.max(0, Date.parse(waits.effective_at) - Date.now()) + AFTER_MOMENT_MS);
    },
  });
  return (
    <>
      <PageHead title="Policies">
        What you allow yourself to pay out, and when payments count.
        {may ? null : " It takes a key with admin to change them."}
      </PageHead>
      <Answer query={policies}>
        {(held) => (
          <>
            <WithdrawalRulesCard held={held.withdrawals} mayChange={may} />
            <ConfirmationsCard rules={held.confirmations} mayChange={may} />
          </>
        )}
      </Answer>
    </>
  );
}
