import { PageHead } from "../design/layout.tsx";

export function PoliciesPage() {
  return <PageHead title="Policies" />;
}
