/** Whether books, keys and chain agree: the latest report, a new one, and past heights read again. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { NotFoundError } from "../../sdk/errors.ts";
import { sluice } from "../client.ts";
import { Answer, Empty, ErrorNotice, Notice } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { useToast } from "../design/toasts.tsx";
import { useMay } from "../session.ts";
import { Backfills } from "./networks/backfills.tsx";
import { Report } from "./reconciliation/report.tsx";

const LATEST = ["reconciliation", "latest"];

export function ReconciliationPage() {
  const queries = useQueryClient();
  const toast = useToast();
  const mayRun = useMay("withdrawals:write");
  // One key for one report: a click that repeats after a lost answer gets the report that was made.
  const [idempotencyKey, setKey] = useState(() => crypto.randomUUID());
  const latest = useQuery({
    queryKey: LATEST,
    queryFn: async () => {
      try {
        return await sluice.reconciliation.get();
      } catch (error) {
        if (error instanceof NotFoundError) return null;
        throw error;
      }
    },
    refetchInterval: 30_000,
  });
  const run = useMutation({
    mutationKey: ["reconciliation"],
    mutationFn: async () => await sluice.reconciliation.run({ idempotencyKey }),
    onSuccess: (report) => {
      setKey(crypto.randomUUID());
      queries.setQueryData(LATEST, report);
      toast(`Compared: ${report.status}.`);
    },
  });
  /** `isPending` is told a moment later, and a second click may come before. */
  const compare = () => {
    if (queries.isMutating({ mutationKey: ["reconciliation"] }) === 0) run.mutate();
  };
  return (
    <>
      <PageHead
        title="Reconciliation"
        actions={
          mayRun ? (
            <Button look="main" busy={run.isPending} onClick={compare}>
              Compare now
            </Button>
          ) : (
            <span className="small quiet">A new report takes a key with withdrawals:write.</span>
          )
        }
      >
        Ledger, keys and chain, held against each other. It names what differs and changes nothing.
      </PageHead>
      {run.isPending ? (
        <div role="status">
          <Notice tone="info" title="Comparing">
            Chain and keys are asked, then everything is held against the books. This may take a minute.
          </Notice>
        </div>
      ) : null}
      {run.isError ? <ErrorNotice error={run.error} again={compare} /> : null}
      <Answer query={latest}>
        {(report) =>
          report === null ? (
            <Card>
              <Empty title="No report yet">
                <span>One is made every hour while withdrawals are under way, and when they come to rest.</span>
              </Empty>
            </Card>
          ) : (
            <Report of={report} />
          )
        }
      </Answer>
      <Backfills />
    </>
  );
}
