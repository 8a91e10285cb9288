import { PageHead } from "../design/layout.tsx";

export function ApiKeysPage() {
  return <PageHead title="API keys" />;
}
