/** What there is now: balances, what is under way, how the networks are, what happened last. */

import { PageHead } from "../design/layout.tsx";
import { OpenIncidents } from "./incidents.tsx";
import { NetworkHealth } from "./networks/health.tsx";
import { AssetTotals } from "./overview/balances.tsx";
import { Charts } from "./overview/charts.tsx";
import { LatestEvents } from "./overview/feed.tsx";
import { FirstSteps } from "./overview/first-steps.tsx";
import { RunningConfirmations, WithdrawalsUnderWay } from "./overview/under-way.tsx";

export function OverviewPage() {
  return (
    <>
      <PageHead title="Overview" />
      <OpenIncidents />
      <FirstSteps />
      <AssetTotals />
      <div className="columns">
        <RunningConfirmations />
        <WithdrawalsUnderWay />
      </div>
      <NetworkHealth />
      <Charts />
      <LatestEvents />
    </>
  );
}
