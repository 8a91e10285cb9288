/** The frame: navigation, who is signed in, whether the page is live. */

import { Dialog } from "@base-ui/react/dialog";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { NavLink, useNavigate } from "react-router";
import { sluice } from "./client.ts";
import { Button } from "./design/button.tsx";
import { useLive } from "./live.tsx";
import { useSandbox } from "./sandbox.ts";
import { useSession } from "./session.ts";
import { ThemeButton } from "./theme.tsx";

const PAGES = [
  ["/", "Overview"],
  ["/deposits", "Deposits"],
  ["/addresses", "Addresses"],
  ["/withdrawals", "Withdrawals"],
  ["/webhooks", "Webhooks"],
  ["/incidents", "Incidents"],
  ["/ledger", "Ledger"],
  ["/reconciliation", "Reconciliation"],
  ["/policies", "Policies"],
  ["/keys", "API keys"],
] as const;

export function Shell({ onSignedOut, children }: { readonly onSignedOut: () => void; readonly children: ReactNode }) {
  const [menu, setMenu] = useState(false);
  return (
    <div className="shell">
      <button
        className="skip"
        type="button"
        onClick={() => {
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the page
      </button>
      <header className="top">
        <Brand />
        <div className="row">
          <LiveMark />
          <Dialog.Root open={menu} onOpenChange={setMenu}>
            <Dialog.Trigger className="button button-small">Menu</Dialog.Trigger>
            <Dialog.Portal>
              <Dialog.Backdrop className="backdrop" style={{ zIndex: 10 }} />
              <Dialog.Popup className="drawer" style={{ zIndex: 11 }} aria-label="Menu">
                <Side onSignedOut={onSignedOut} onChosen={() => setMenu(false)} />
              </Dialog.Popup>
            </Dialog.Portal>
          </Dialog.Root>
        </div>
      </header>
      <Side onSignedOut={onSignedOut} />
      <main className="main" id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Side({ onSignedOut, onChosen }: { readonly onSignedOut: () => void; readonly onChosen?: () => void }) {
  const { tenant, api_key } = useSession();
  const sandbox = useSandbox();
  const navigate = useNavigate();
  const leave = useMutation({
    mutationFn: async () => await sluice.session.end(),
    onSuccess: () => {
      // Whoever signs in next may be another tenant, to whom this page says nothing.
      void navigate("/");
      onSignedOut();
    },
  });
  const pages = sandbox.data ? [...PAGES, ["/sandbox", "Sandbox"] as const] : PAGES;
  return (
    <aside className="side" aria-label="Navigation and session">
      <Brand />
      <nav aria-label="Pages">
        <ul className="nav">
          {pages.map(([path, name]) => (
            <li key={path}>
              <NavLink to={path} end={path === "/"} onClick={onChosen}>
                {name}
              </NavLink>
            </li>
          ))}
          <li>
            <a href="/docs">API reference</a>
          </li>
        </ul>
      </nav>
      <div className="side-foot">
        <LiveMark />
        <span className="break">{tenant.name}</span>
        <span className="small quiet break">Key: {api_key.name}</span>
        <div className="row">
          <ThemeButton />
          <Button small busy={leave.isPending} onClick={() => leave.mutate()}>
            Sign out
          </Button>
        </div>
      </div>
    </aside>
  );
}

function Brand() {
  return (
    <span className="brand">
      <img src="/icon.svg" alt="" />
      Sluice
    </span>
  );
}

function LiveMark() {
  const { status } = useLive();
  return (
    <span className="live" data-status={status}>
      {status === "live" ? "Live" : "Reconnecting …"}
    </span>
  );
}
