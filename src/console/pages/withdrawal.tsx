import { PageHead } from "../design/layout.tsx";

export function WithdrawalPage() {
  return <PageHead title="Withdrawal" />;
}
