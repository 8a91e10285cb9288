import { PageHead } from "../design/layout.tsx";

export function WebhooksPage() {
  return <PageHead title="Webhooks" />;
}
