import { PageHead } from "../design/layout.tsx";

export function ReconciliationPage() {
  return <PageHead title="Reconciliation" />;
}
