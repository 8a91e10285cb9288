/** One endpoint: how it is set, what may be done with it, and what became of each event. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import type { WebhookEndpoint } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Answer, ErrorNotice, Notice } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { Confirm } from "../design/dialog.tsx";
import { Card, Facts, PageHead } from "../design/layout.tsx";
import { ExactTime, Short, State, Time } from "../design/text.tsx";
import { useToast } from "../design/toasts.tsx";
import { useSandbox } from "../sandbox.ts";
import { useMay } from "../session.ts";
import { Deliveries } from "./webhooks/deliveries.tsx";
import { EditEndpointDialog } from "./webhooks/endpoint-form.tsx";
import { DEFAULT_SET, disabledInWords } from "./webhooks/events.ts";
import { MadeDialog } from "./webhooks/made.tsx";
import type { MadeSecret } from "./webhooks/receiver.ts";
import { ReplayDialog } from "./webhooks/replay.tsx";
import { RotateSecretDialog } from "./webhooks/rotate.tsx";

type Asked = "edit" | "rotate" | "replay" | "disable" | "delete" | null;

export function WebhookPage() {
  const { id = "" } = useParams();
  const endpoint = useQuery({
    queryKey: ["endpoints", "one", id],
    queryFn: async () => await sluice.webhookEndpoints.get(id),
    refetchInterval: 5_000,
  });
  return (
    <>
      <PageHead title="Webhook endpoint" actions={<Link to="/webhooks">All endpoints</Link>}>
        <span className="mono break">{endpoint.data?.url ?? id}</span>
      </PageHead>
      <Answer query={endpoint}>
        {(row) => (
          <>
            <WhatItIs of={row} />
            <Deliveries of={row} />
          </>
        )}
      </Answer>
    </>
  );
}

function WhatItIs({ of: row }: { readonly of: WebhookEndpoint }) {
  const mayWrite = useMay("webhooks:write");
  const sandbox = useSandbox();
  return (
    <Card title="Settings">
      <div className="stack">
        {row.status === "disabled" ? (
          <Notice tone="warn" title="Nothing is sent to it">
            <span>
              {disabledInWords(row.disabled_reason)} Since <Time at={row.disabled_at} />. Events wait, none is lost;
              they are sent in order once it is enabled.
            </span>
          </Notice>
        ) : null}
        <Facts
          of={[
            ["Status", <State key="status" of={row.status} />],
            sandbox.data?.receiver.url === row.url
              ? [
                  "Receiver",
                  <Link key="receiver" to="/sandbox">
                    the sandbox's own: see what it got
                  </Link>,
                ]
              : null,
            ["Description", row.description ?? "none"],
            ["Events", row.events === null ? DEFAULT_SET : row.events.join(", ")],
            [
              "Signature",
              row.signature === "v1" ? "v1: HMAC-SHA256 with its secret" : "v1a: Ed25519, verified with its public key",
            ],
            row.public_key === null
              ? null
              : ["Public key", <Short key="key" text={row.public_key} label="public key" keep={12} />],
            ["Version of the bodies", row.api_version],
            ["Created", <ExactTime key="at" at={row.created_at} />],
          ]}
        />
        {mayWrite ? <Actions of={row} /> : null}
      </div>
    </Card>
  );
}

function Actions({ of: row }: { readonly of: WebhookEndpoint }) {
  const [asked, setAsked] = useState<Asked>(null);
  // With the secret: here alone, and only while it is shown.
  const [made, setMade] = useState<MadeSecret | null>(null);
  const queries = useQueryClient();
  const toast = useToast();
  const close = () => setAsked(null);
  const test = useMutation({
    mutationFn: async () => await sluice.webhookEndpoints.test(row.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
      toast("A test event is on its way.");
    },
  });
  const enable = useMutation({
    mutationFn: async () => await sluice.webhookEndpoints.enable(row.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
      toast("It is enabled. What waited is sent now.");
    },
  });
  return (
    <>
      <div className="row">
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          Send a test event
        </Button>
        <Button onClick={() => setAsked("edit")}>Edit</Button>
        <Button onClick={() => setAsked("rotate")}>
          {row.signature === "v1" ? "Rotate the secret" : "Rotate the key"}
        </Button>
        <Button onClick={() => setAsked("replay")}>Replay</Button>
        {row.status === "enabled" ? (
          <Button onClick={() => setAsked("disable")}>Disable</Button>
        ) : (
          <Button look="main" busy={enable.isPending} onClick={() => enable.mutate()}>
            Enable
          </Button>
        )}
        <Button look="danger" onClick={() => setAsked("delete")}>
          Delete
        </Button>
      </div>
      {[test.error, enable.error].map((error) =>
        error === null ? null : <ErrorNotice key={error.message} error={error} />,
      )}
      <EditEndpointDialog of={asked === "edit" ? row : null} onClose={close} />
      <RotateSecretDialog
        of={asked === "rotate" ? row : null}
        onClose={close}
        onMade={(now) => {
          close();
          setMade(now);
        }}
      />
      <ReplayDialog of={asked === "replay" ? row : null} onClose={close} />
      <DisableConfirm of={row} open={asked === "disable"} onClose={close} />
      <DeleteConfirm of={row} open={asked === "delete"} onClose={close} />
      <MadeDialog made={made} onClose={() => setMade(null)} />
    </>
  );
}

interface ConfirmProps {
  readonly of: WebhookEndpoint;
  readonly open: boolean;
  readonly onClose: () => void;
}

function DisableConfirm({ of: row, open, onClose }: ConfirmProps) {
  const queries = useQueryClient();
  const toast = useToast();
  const end = useMutation({
    mutationFn: async () => await sluice.webhookEndpoints.disable(row.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      toast("It is disabled. Events wait.");
      onClose();
    },
  });
  return (
    <Confirm
      title="Disable the endpoint"
      confirm="Disable"
      open={open}
      busy={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    >
      <p>Nothing is sent to it until it is enabled again. Events wait meanwhile, and none is lost.</p>
    </Confirm>
  );
}

function DeleteConfirm({ of: row, open, onClose }: ConfirmProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const end = useMutation({
    mutationFn: async () => await sluice.webhookEndpoints.delete(row.id),
    onSuccess: () => {
      toast("The endpoint is deleted.");
      void navigate("/webhooks");
      queries.removeQueries({ queryKey: ["endpoints", "one", row.id] });
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
    },
  });
  return (
    <Confirm
      title="Delete the endpoint"
      confirm="Delete"
      danger
      open={open}
      busy={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    >
      <p>
        <span className="mono break">{row.url}</span> gets nothing any more, and what waits for it is dropped. The
        events themselves stay in the feed. This cannot be taken back; to pause it, disable it.
      </p>
    </Confirm>
  );
}
