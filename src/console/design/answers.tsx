/**
 * The states in which an answer can be: it is waited for, it failed, it is empty, it is here. Every list and every
 * page shows its data through one of these, so none of them is forgotten.
 */

import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { SluiceError } from "../../sdk/errors.ts";
import { Button } from "./button.tsx";
import type { Tone } from "./text.tsx";

/** What the service said, in its own words, with what support asks for. */
export function ErrorNotice({ error, again }: { readonly error: unknown; readonly again?: (() => void) | undefined }) {
  const facts = error instanceof SluiceError ? error : null;
  return (
    <div className="notice" data-tone="bad" role="alert">
      <strong>{titleOf(error)}</strong>
      <span>{facts?.detail ?? (error instanceof Error ? error.message : String(error))}</span>
      {facts !== null && facts.errors.length > 0 ? (
        <ul>
          {facts.errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <span className="mono">{path}</span>: {message}
            </li>
          ))}
        </ul>
      ) : null}
      {facts?.requestId ? <span className="small quiet">Request {facts.requestId}</span> : null}
      {again === undefined ? null : (
        <div>
          <Button small onClick={again}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}

function titleOf(error: unknown): string {
  if (!(error instanceof SluiceError)) return "Something in this page failed";
  if (error.code === "connection_failed" || error.code === "timeout") return "The service did not answer";
  if (error.code === "forbidden") return "This session's key may not do that";
  return "The service refused";
}

export function Notice({
  tone,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="notice" data-tone={tone}>
      {title === undefined ? null : <strong>{title}</strong>}
      {children}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

const WIDTHS = ["62%", "48%", "71%", "55%", "66%"];

export function Loading({ lines = 5, label = "Loading" }: { readonly lines?: number; readonly label?: string }) {
  return (
    <div className="stack" style={{ padding: 16 }} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, i) => i).map((i) => (
        <span key={i} className="skeleton" style={{ width: WIDTHS[i % WIDTHS.length] }} />
      ))}
    </div>
  );
}

/** Shows a query's data as `children` makes it; while it loads or when it failed, that instead. Old data stays, with the error above it. */
export function Answer<T>({
  query,
  children,
  lines,
}: {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
  readonly lines?: number;
}) {
  const again = () => void query.refetch();
  if (query.data === undefined) {
    return query.isError ? (
      <ErrorNotice error={query.error} again={again} />
    ) : (
      <Loading {...(lines === undefined ? {} : { lines })} />
    );
  }
  return (
    <>
      {query.isError ? <ErrorNotice error={query.error} again={again} /> : null}
      {children(query.data)}
    </>
  );
}
