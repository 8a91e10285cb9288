import { PageHead } from "../design/layout.tsx";

export function AddressesPage() {
  return <PageHead title="Addresses" />;
}
