import { PageHead } from "../design/layout.tsx";

export function SandboxPage() {
  return <PageHead title="Sandbox" />;
}
