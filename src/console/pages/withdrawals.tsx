import { PageHead } from "../design/layout.tsx";

export function WithdrawalsPage() {
  return <PageHead title="Withdrawals" />;
}
