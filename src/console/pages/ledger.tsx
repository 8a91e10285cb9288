import { PageHead } from "../design/layout.tsx";

export function LedgerPage() {
  return <PageHead title="Ledger" />;
}
