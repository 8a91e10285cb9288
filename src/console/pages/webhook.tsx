import { PageHead } from "../design/layout.tsx";

export function WebhookPage() {
  return <PageHead title="Webhook" />;
}
