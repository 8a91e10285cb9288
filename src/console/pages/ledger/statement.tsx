/**
 * The statement as a file. It is read page by page here and made here: the file never leaves the browser. Entries that
 * are posted meanwhile are not in it, since the pages lead from the newest one at its beginning to the oldest.
 */

import { useEffect, useRef, useState } from "react";
import type { LedgerEntry, LedgerFilter } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { ErrorNotice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Card } from "../../design/layout.tsx";
import { statementName, statementOf } from "../../statement.ts";

type Export =
  | { readonly is: "idle" }
  | { readonly is: "reading"; readonly read: number }
  | { readonly is: "cancelled"; readonly read: number }
  | { readonly is: "done"; readonly read: number; readonly name: string }
  | { readonly is: "failed"; readonly error: unknown };

export function Statement({ filter }: { readonly filter: LedgerFilter }) {
  const [state, setState] = useState<Export>({ is: "idle" });
  const reading = useRef<AbortController | null>(null);
  // Whoever leaves the page wants no file any more.
  useEffect(() => () => reading.current?.abort(), []);

  async function make(): Promise<void> {
    if (reading.current !== null) return;
    const ends = new AbortController();
    reading.current = ends;
    const entries: LedgerEntry[] = [];
    setState({ is: "reading", read: 0 });
    try {
      const list = sluice.ledgerEntries.list({ ...filter, limit: 200 }, { signal: ends.signal });
      for await (const { data } of list.pages()) {
        if (ends.signal.aborted) break;
        entries.push(...data);
        setState({ is: "reading", read: entries.length });
      }
      if (ends.signal.aborted) return setState({ is: "cancelled", read: entries.length });
      const name = statementName(filter, new Date());
      download(name, statementOf(entries));
      setState({ is: "done", read: entries.length, name });
    } catch (error) {
      setState(ends.signal.aborted ? { is: "cancelled", read: entries.length } : { is: "failed", error });
    } finally {
      reading.current = null;
    }
  }

  const isReading = state.is === "reading";
  return (
    <Card title="Statement">
      <div className="stack stack-tight">
        <p className="quiet">
          Every entry {filter.account === undefined ? "of all accounts" : `of ${filter.account}`}
          {filter.asset === undefined ? "" : ` in ${filter.asset}`}
          {filter.network === undefined ? "" : ` on ${filter.network}`}, oldest first, with what the account held after
          it. Amounts in the file are exact; a spreadsheet rounds long ones unless it takes the column as text.
        </p>
        <div className="row">
          <Button busy={isReading} onClick={() => void make()}>
            Export CSV
          </Button>
          {isReading ? <Button onClick={() => reading.current?.abort()}>Cancel</Button> : null}
          <span role="status" className="small quiet break">
            {wordsOf(state)}
          </span>
        </div>
        {state.is === "failed" ? <ErrorNotice error={state.error} again={() => void make()} /> : null}
      </div>
    </Card>
  );
}

function wordsOf(state: Export): string {
  switch (state.is) {
    case "reading":
      return `${state.read} entries read …`;
    case "cancelled":
      return `Cancelled after ${state.read} entries. No file was made.`;
    case "done":
      return `${state.read === 1 ? "1 entry" : `${state.read} entries`} in ${state.name}`;
    default:
      return "";
  }
}

function download(name: string, parts: string[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
