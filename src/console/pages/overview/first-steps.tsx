/** For a tenant that watches nothing yet: what to do to see something. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { sluice } from "../../client.ts";
import { Card } from "../../design/layout.tsx";
import { useSandbox } from "../../sandbox.ts";
import { useMay } from "../../session.ts";
import styles from "./overview.module.css";

export function FirstSteps() {
  const addresses = useQuery({
    queryKey: ["addresses", "any"],
    queryFn: async () => (await sluice.addresses.list({ limit: 1 }).page()).data.length > 0,
  });
  const mayRegister = useMay("addresses:write");
  const sandbox = useSandbox();
  // Whether it is empty is not known yet, or it is not: nothing to be told.
  if (addresses.data !== false) return null;
  return (
    <Card title="First steps">
      <ol className={styles.steps}>
        <li>
          {mayRegister ? <Link to="/addresses">Register an address</Link> : "Register an address"}: payments to it are
          watched from then on.
          {mayRegister ? null : (
            <span className="quiet">
              {" "}
              This session's key may not do that: sign in with one that has addresses:write.
            </span>
          )}
        </li>
        <li>
          <Link to="/webhooks">Add a webhook endpoint</Link>: your server hears of every deposit and every reversal.
        </li>
        <li>Pay the address. The deposit appears here as soon as its block is read.</li>
      </ol>
      {sandbox.data ? (
        <p style={{ marginTop: 12 }}>
          Or <Link to="/sandbox">open the sandbox</Link>: it pays an address on a chain of this machine, and shows what
          your server would be told.
        </p>
      ) : null}
    </Card>
  );
}
