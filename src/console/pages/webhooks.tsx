/** The endpoints that events are sent to, and whether they are. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import type { WebhookEndpoint } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty, ErrorNotice } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, rowsOf, useRows } from "../design/table.tsx";
import { State, Time } from "../design/text.tsx";
import { useToast } from "../design/toasts.tsx";
import { useSandbox } from "../sandbox.ts";
import { useMay } from "../session.ts";
import { NewEndpointDialog } from "./webhooks/endpoint-form.tsx";
import { disabledInWords } from "./webhooks/events.ts";
import { MadeDialog } from "./webhooks/made.tsx";
import { type MadeSecret, useTakeSecret } from "./webhooks/receiver.ts";

const COLUMNS: readonly Column<WebhookEndpoint>[] = [
  {
    name: "URL",
    cell: (row) => (
      <Link to={`/webhooks/${row.id}`} className="break">
        {row.url}
      </Link>
    ),
  },
  {
    name: "Description",
    cell: ({ description }) =>
      description === null ? <span className="quiet">none</span> : <span className="break">{description}</span>,
  },
  {
    name: "Status",
    cell: (row) => (
      <span className="stack stack-tight" style={{ minWidth: "max-content" }}>
        <span>
          <State of={row.status} />
        </span>
        {row.disabled_reason === null ? null : (
          <span className="small quiet">{disabledInWords(row.disabled_reason)}</span>
        )}
      </span>
    ),
  },
  {
    name: "Events",
    cell: ({ events }) => <Events of={events} />,
  },
  { name: "Signature", cell: (row) => row.signature },
  { name: "Created", cell: (row) => <Time at={row.created_at} /> },
];

/** The endpoint's own page lists them all. */
const MOST_EVENTS = 2;

function Events({ of: events }: { readonly of: WebhookEndpoint["events"] }) {
  if (events === null) return "the default set";
  const more = events.length - MOST_EVENTS;
  return (
    <span>
      <span className="mono">{events.slice(0, MOST_EVENTS).join(", ")}</span>
      {more > 0 ? ` and ${more} more` : null}
    </span>
  );
}

export function WebhooksPage() {
  const navigate = useNavigate();
  const mayWrite = useMay("webhooks:write");
  const [making, setMaking] = useState(false);
  // With the secret: here alone, and only while it is shown.
  const [made, setMade] = useState<MadeSecret | null>(null);
  const rows = useRows(["endpoints"], () => sluice.webhookEndpoints.list(), { refetchInterval: 10_000 });
  const toast = useToast();
  const builtIn = useBuiltIn((now) => {
    // Nobody else needs the secret of an endpoint that is the sandbox's own.
    if (now.receiver !== "has it") return setMade(now);
    toast("The endpoint is made, and the built-in receiver has its secret.");
    void navigate(`/webhooks/${now.endpoint.id}`);
  });
  const isThere = rowsOf(rows).some(({ url }) => url === builtIn.url);
  return (
    <>
      <PageHead
        title="Webhooks"
        actions={
          mayWrite ? (
            <>
              {builtIn.url === null || rows.data === undefined || isThere ? null : (
                <Button busy={builtIn.make.isPending} onClick={() => builtIn.make.mutate(builtIn.url ?? "")}>
                  Use the built-in receiver
                </Button>
              )}
              <Button look="main" onClick={() => setMaking(true)}>
                Create an endpoint
              </Button>
            </>
          ) : undefined
        }
      >
        Where events are sent, signed and in order.
      </PageHead>
      {builtIn.make.error === null ? null : <ErrorNotice error={builtIn.make.error} />}
      <Card flush>
        <PagedTable
          label="Endpoints"
          rows={rows}
          columns={COLUMNS}
          keyOf={(row) => row.id}
          empty={
            <Empty title="No endpoint yet">
              <span>
                An endpoint is a URL of your server.
                {builtIn.url === null ? "" : " The sandbox has a receiver of its own to begin with."}
              </span>
            </Empty>
          }
        />
      </Card>
      <NewEndpointDialog
        open={making}
        onClose={() => setMaking(false)}
        onMade={(now) => {
          setMaking(false);
          setMade(now);
        }}
      />
      <MadeDialog
        made={made}
        onClose={() => {
          setMade(null);
          if (made !== null) void navigate(`/webhooks/${made.endpoint.id}`);
        }}
      />
    </>
  );
}

/** An endpoint at the sandbox's receiver, with one click. */
function useBuiltIn(onMade: (made: MadeSecret) => void) {
  const queries = useQueryClient();
  const sandbox = useSandbox();
  const takeSecret = useTakeSecret();
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const make = useMutation({
    gcTime: 0,
    mutationFn: async (url: string) =>
      takeSecret(await sluice.webhookEndpoints.create({ url, description: "Built-in receiver" }, { idempotencyKey })),
    onSuccess: (made) => {
      make.reset();
      void queries.invalidateQueries({ queryKey: ["endpoints"] });
      onMade(made);
    },
  });
  return { url: sandbox.data?.receiver.url ?? null, make };
}
