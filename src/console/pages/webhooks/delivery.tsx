/** One delivery: each attempt with what came of it, and the request as the receiver gets it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Delivery, DeliveryAttempt, WebhookEndpoint } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, ErrorNotice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Facts, Timeline, type TimelineStep } from "../../design/layout.tsx";
import { ExactTime, Short, State, Time } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { useMay } from "../../session.ts";
import { outcomeInWords, pageOfSubject } from "./events.ts";

/** @param of null: none is shown */
export function DeliveryDialog({
  of: row,
  endpoint,
  onClose,
}: {
  readonly of: Delivery | null;
  readonly endpoint: WebhookEndpoint;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Delivery" open={row !== null} onClose={onClose}>
      {row === null ? null : <Shown of={row} endpoint={endpoint} onClose={onClose} />}
    </Dialog>
  );
}

function Shown({
  of: row,
  endpoint,
  onClose,
}: {
  readonly of: Delivery;
  readonly endpoint: WebhookEndpoint;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const toast = useToast();
  const mayWrite = useMay("webhooks:write");
  const resend = useMutation({
    mutationFn: async () => await sluice.webhookEndpoints.resend(endpoint.id, row.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
      toast("It is sent again.");
    },
  });
  return (
    <>
      <Facts
        of={[
          [
            "Event",
            <span key="type" className="mono">
              {row.event_type}
            </span>,
          ],
          ["Sequence", String(row.sequence)],
          ["Status", <State key="status" of={row.status} />],
          row.next_attempt_at === null ? null : ["Next attempt", <Time key="next" at={row.next_attempt_at} />],
          ["Queued", <ExactTime key="at" at={row.created_at} />],
        ]}
      />
      <section className="stack stack-tight" aria-label="Attempts">
        <h3>Attempts</h3>
        {row.attempts.length === 0 ? (
          <span className="quiet">None yet: it is about to be sent, or waits for the subject's event before it.</span>
        ) : (
          <Timeline label="Attempts" steps={row.attempts.map(stepOf)} />
        )}
      </section>
      <Request of={row} endpoint={endpoint} />
      {resend.error === null ? null : <ErrorNotice error={resend.error} />}
      <div className="dialog-actions">
        {mayWrite ? (
          <Button busy={resend.isPending} onClick={() => resend.mutate()}>
            Send again
          </Button>
        ) : null}
        <Button look="main" onClick={onClose}>
          Close
        </Button>
      </div>
    </>
  );
}

function stepOf(attempt: DeliveryAttempt, index: number): TimelineStep {
  const { at, status, outcome, duration_ms: duration, error, response } = attempt;
  return {
    key: `${index} ${at}`,
    tone: outcome === "delivered" ? "good" : "bad",
    title: `${outcomeInWords(outcome)}${status === null ? "" : `, ${status}`}`,
    at: <ExactTime at={at} />,
    children: (
      <div className="stack stack-tight">
        <span className="small quiet">
          {status === null ? `Ended after ${duration} ms, without an answer` : `Answered after ${duration} ms`}
        </span>
        {error === null ? null : <span>{error}</span>}
        {response === null || response === "" ? null : <Code label="Beginning of the answer">{response}</Code>}
      </div>
    ),
  };
}

function Request({ of: row, endpoint }: { readonly of: Delivery; readonly endpoint: WebhookEndpoint }) {
  const event = useQuery({
    queryKey: ["event", row.event_id],
    queryFn: async () => await sluice.events.get(row.event_id),
    // An event never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const page = event.data === undefined ? null : pageOfSubject(event.data.subject);
  return (
    <section className="stack stack-tight" aria-label="The request">
      <h3>The request</h3>
      <span className="mono break">POST {endpoint.url}</span>
      <Facts
        of={[
          ["content-type", "application/json"],
          ["user-agent", "Sluice/1 (+webhooks)"],
          ["webhook-id", <Short key="id" text={row.event_id} label="event id" />],
          ["webhook-timestamp", "Unix seconds of the attempt. A receiver refuses what is five minutes away."],
          [
            "webhook-signature",
            `${endpoint.signature},… in base64, over id.timestamp.body. Two of them while a secret is replaced.`,
          ],
        ]}
      />
      <Answer query={event} lines={4}>
        {(found) => (
          <>
            <Code label="Body">{JSON.stringify(found, null, 2)}</Code>
            <span className="small quiet">
              Sent in one line, the same bytes on every attempt; verify over the bytes as they come.
              {page === null ? null : (
                <>
                  {" "}
                  It is about <Link to={page}>{found.subject}</Link>.
                </>
              )}
            </span>
          </>
        )}
      </Answer>
    </section>
  );
}
