/**
 * The whole console: signed in or not, and which page is shown. Paths are in the fragment, so that every other path of
 * the origin stays the API's.
 */

import { QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Navigate, Route, Routes } from "react-router";
import { AuthenticationError } from "../sdk/errors.ts";
import type { Session } from "../sdk/types.ts";
import { sluice } from "./client.ts";
import { ErrorNotice, Loading } from "./design/answers.tsx";
import { LiveProvider } from "./live.tsx";
import { whoIs } from "./other-tabs.ts";
import { AddressesPage } from "./pages/addresses.tsx";
import { ApiKeysPage } from "./pages/api-keys.tsx";
import { DepositPage } from "./pages/deposit.tsx";
import { DepositsPage } from "./pages/deposits.tsx";
import { IncidentsPage } from "./pages/incidents.tsx";
import { LedgerPage } from "./pages/ledger.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { PoliciesPage } from "./pages/policies.tsx";
import { ReconciliationPage } from "./pages/reconciliation.tsx";
import { SandboxPage } from "./pages/sandbox.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { WebhookPage } from "./pages/webhook.tsx";
import { WebhooksPage } from "./pages/webhooks.tsx";
import { WithdrawalPage } from "./pages/withdrawal.tsx";
import { WithdrawalsPage } from "./pages/withdrawals.tsx";
import { becomeSession, createQueries, followOtherTabs, heardSession } from "./queries.ts";
import { SessionContext } from "./session.ts";
import { Shell } from "./shell.tsx";
import { maySession } from "./signed-in.ts";

export function App() {
  const [queries] = useState(createQueries);
  return (
    <QueryClientProvider client={queries}>
      <Gate />
    </QueryClientProvider>
  );
}

async function whoIsSignedIn(): Promise<Session | null> {
  try {
    return await sluice.session.get();
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    return null;
  }
}

function Gate() {
  const queries = useQueryClient();
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      // A tab that failed to sign in takes the mark away from all of them.
      const isKnown = Boolean(queries.getQueryData(["session"]));
      const heard = isKnown || maySession() ? await whoIsSignedIn() : null;
      heardSession(queries, heard);
      return heard;
    },
    staleTime: Number.POSITIVE_INFINITY,
    // Another tab may have changed it while this one slept.
    refetchOnWindowFocus: ({ state }) => (state.data ? "always" : false),
  });
  useEffect(() => followOtherTabs(queries), [queries]);

  if (session.data === undefined)
    return (
      <div className="welcome">
        {session.isError ? <ErrorNotice error={session.error} again={() => void session.refetch()} /> : <Loading />}
      </div>
    );
  if (session.data === null) {
    return <SignInPage onSignedIn={(made) => becomeSession(queries, made)} />;
  }
  return (
    // What was begun as somebody else, a form or a feed, ends with them.
    <SessionContext key={whoIs(session.data)} value={session.data}>
      <LiveProvider>
        <Shell onSignedOut={() => becomeSession(queries, null)}>
          <Routes>
            <Route path="/" element={<OverviewPage />} />
            <Route path="/deposits" element={<DepositsPage />} />
            <Route path="/deposits/:id" element={<DepositPage />} />
            <Route path="/addresses" element={<AddressesPage />} />
            <Route path="/withdrawals" element={<WithdrawalsPage />} />
            <Route path="/withdrawals/:id" element={<WithdrawalPage />} />
            <Route path="/webhooks" element={<WebhooksPage />} />
            <Route path="/webhooks/:id" element={<WebhookPage />} />
            <Route path="/keys" element={<ApiKeysPage />} />
            <Route path="/policies" element={<PoliciesPage />} />
            <Route path="/incidents" element={<IncidentsPage />} />
            <Route path="/ledger" element={<LedgerPage />} />
            <Route path="/reconciliation" element={<ReconciliationPage />} />
            <Route path="/sandbox" element={<SandboxPage />} />
            <Route path="*" element={<Navigate to="/" replace />} />
          </Routes>
        </Shell>
      </LiveProvider>
    </SessionContext>
  );
}
