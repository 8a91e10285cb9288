import { PageHead } from "../design/layout.tsx";

export function OverviewPage() {
  return <PageHead title="Overview" />;
}
