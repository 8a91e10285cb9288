/**
 * Asking for a withdrawal. A form that is opened has one idempotency key for as long as it lives: whatever is clicked
 * twice, or sent again because an answer was lost, is one withdrawal. A form whose answer was lost is kept, as it was
 * sent, until it is known what became of it.
 */

import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { SluiceError } from "../../../sdk/errors.ts";
import type { NewWithdrawal, Withdrawal } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { ErrorNotice, Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Facts } from "../../design/layout.tsx";
import { Amount } from "../../design/text.tsx";
import { useToast } from "../../design/toasts.tsx";
import { useMay } from "../../session.ts";
import { type Order, useOrder } from "./order.ts";
import { OrderForm } from "./order-form.tsx";

const CREATE = ["withdrawals", "create"];

export function NewWithdrawalButton() {
  const may = useMay("withdrawals:write");
  const [order, setOrder] = useOrder();
  const [open, setOpen] = useState(false);
  const isUnderWay = useIsMutating({ mutationKey: CREATE }) > 0;
  if (!may) return <span className="small quiet">This session's key may not pay out.</span>;
  const close = () => {
    // What is on its way keeps its form: another one would have another key.
    if (isUnderWay) return;
    setOpen(false);
    if (order?.sent === null) setOrder(null);
  };
  const isOpen = order !== null && order.sent !== null;
  return (
    <>
      <Button
        look="main"
        onClick={() => {
          setOrder(order ?? { key: crypto.randomUUID(), sent: null });
          setOpen(true);
        }}
      >
        {isOpen ? "Go on with the unanswered withdrawal" : "New withdrawal"}
      </Button>
      <Dialog title="New withdrawal" open={open && order !== null} onClose={close} dismissible={!isUnderWay}>
        {order === null ? null : (
          <OrderDialog
            key={order.key}
            order={order}
            onSent={(sent) => setOrder({ ...order, sent })}
            onClose={close}
            onDone={() => {
              setOpen(false);
              setOrder(null);
            }}
          />
        )}
      </Dialog>
    </>
  );
}

function OrderDialog({
  order: { key, sent },
  onSent,
  onClose,
  onDone,
}: {
  readonly order: Order;
  /** null: what was sent is refused for certain. */
  readonly onSent: (body: NewWithdrawal | null) => void;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const found = (withdrawal: Withdrawal) => {
    void queries.invalidateQueries({ queryKey: ["withdrawals"] });
    void queries.invalidateQueries({ queryKey: ["balances"] });
    onDone();
    // Whoever has gone to another page meanwhile is left there.
    if (isShown.current) void navigate(`/withdrawals/${withdrawal.id}`);
  };
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  const underWay = useRef(false);
  const [isFirst, setFirst] = useState(true);
  // From this form, or from one that was left.
  const isUnderWay = useIsMutating({ mutationKey: CREATE }) > 0;
  const create = useMutation({
    mutationKey: CREATE,
    mutationFn: async (body: NewWithdrawal) => await sluice.withdrawals.create(body, { idempotencyKey: key }),
    onSuccess: (withdrawal) => {
      toast("The withdrawal is written down.");
      found(withdrawal);
    },
    onError: (error) => {
      if (!(error instanceof SluiceError && error.outcomeUnknown)) onSent(null);
    },
    onSettled: () => {
      underWay.current = false;
    },
  });
  const send = (body: NewWithdrawal) => {
    if (underWay.current) return;
    underWay.current = true;
    setFirst(sent === null);
    create.mutate(body);
    // In the same turn: whatever happens to this page from here on, it may be accepted.
    onSent(body);
  };
  if (sent === null || (isFirst && create.isPending)) {
    return (
      <OrderForm
        // A refusal of what was sent again leaves the fields as they were.
        initial={create.variables ?? null}
        onSend={send}
        onEdit={create.reset}
        onClose={onClose}
        busy={create.isPending}
        error={create.isPending ? null : create.error}
      />
    );
  }
  return (
    <Unanswered
      orderKey={key}
      body={sent}
      busy={isUnderWay}
      error={create.error}
      onSend={() => send(sent)}
      onFound={found}
      onClose={onClose}
    />
  );
}

/** Whether it was accepted is not known: the same can be sent again, and nothing else. */
function Unanswered({
  orderKey,
  body,
  busy,
  error,
  onSend,
  onFound,
  onClose,
}: {
  readonly orderKey: string;
  readonly body: NewWithdrawal;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSend: () => void;
  readonly onFound: (withdrawal: Withdrawal) => void;
  readonly onClose: () => void;
}) {
  const look = useMutation({
    mutationFn: async () => await sluice.withdrawals.list({ idempotency_key: orderKey }).toArray(1),
    onSuccess: ([withdrawal]) => {
      if (withdrawal !== undefined) onFound(withdrawal);
    },
  });
  return (
    <div className="stack">
      <Notice tone="warn" title="No answer came: it may have been accepted">
        <span>Send the same again. It has the same key, so it is paid once, however often it is sent.</span>
      </Notice>
      <Facts
        of={[
          ["Amount", <Amount key="amount" amount={body.amount} asset={body.asset} />],
          ["Network", body.network],
          [
            "Destination",
            <span key="to" className="mono">
              {body.destination}
            </span>,
          ],
          ["Account", body.account ?? "default"],
          [
            "Key",
            <span key="key" className="mono">
              {orderKey}
            </span>,
          ],
        ]}
      />
      {busy || error === null ? null : <ErrorNotice error={error} />}
      {look.isError ? <ErrorNotice error={look.error} /> : null}
      {look.isSuccess ? (
        <Notice tone="info" title="Nothing has this key so far">
          <span>What was sent may still arrive. Sending it again settles it.</span>
        </Notice>
      ) : null}
      <div className="dialog-actions">
        <Button onClick={onClose} disabled={busy}>
          Close
        </Button>
        <Button busy={look.isPending} onClick={() => look.mutate()}>
          Look for it
        </Button>
        <Button look="main" busy={busy} onClick={onSend}>
          Send it again
        </Button>
      </div>
    </div>
  );
}
