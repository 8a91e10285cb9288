import { PageHead } from "../design/layout.tsx";

export function DepositPage() {
  return <PageHead title="Deposit" />;
}
