/** A page's head, its cards, and lists of facts. */

import { type ReactNode, useEffect } from "react";

/** The one heading of a page; it also names the browser's tab. */
export function PageHead({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <header className="row row-apart">
      <div className="stack stack-tight">
        <h1>{title}</h1>
        {children === undefined ? null : <div className="quiet">{children}</div>}
      </div>
      {actions === undefined ? null : <div className="row">{actions}</div>}
    </header>
  );
}

export function Card({
  title,
  actions,
  flush = false,
  children,
}: {
  readonly title?: string;
  readonly actions?: ReactNode;
  /** Without padding: for tables. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}) {
  const head =
    title === undefined ? null : (
      <div className="row row-apart" style={flush ? { padding: "14px 16px 6px" } : { marginBottom: 12 }}>
        <h2>{title}</h2>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
    );
  return (
    <section className={flush ? "card card-flush" : "card"} aria-label={title}>
      {head}
      {children}
    </section>
  );
}

/** Names with what they are, in the order given; null is left out. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode] | null)[] }) {
  return (
    <dl className="facts">
      {of.map((fact) =>
        fact === null ? null : (
          <div key={fact[0]} style={{ display: "contents" }}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** One number that counts, with its name. */
export function Figure({
  name,
  value,
  hint,
}: {
  readonly name: string;
  readonly value: ReactNode;
  readonly hint?: ReactNode;
}) {
  return (
    <div className="card">
      <h3>{name}</h3>
      <div className="figure-value">{value}</div>
      {hint === undefined ? null : <div className="small quiet">{hint}</div>}
    </div>
  );
}

export interface TimelineStep {
  readonly key: string;
  readonly tone: string;
  readonly title: ReactNode;
  readonly at: ReactNode;
  readonly children?: ReactNode;
}

/** What happened, in order. */
export function Timeline({ steps, label }: { readonly steps: readonly TimelineStep[]; readonly label: string }) {
  return (
    <ol className="timeline" aria-label={label}>
      {steps.map(({ key, tone, title, at, children }) => (
        <li key={key} data-tone={tone}>
          <span className="row row-apart">
            <strong>{title}</strong>
            <span className="small quiet">{at}</span>
          </span>
          {children}
        </li>
      ))}
    </ol>
  );
}

/** How far something is, in whole steps. */
export function Progress({
  value,
  of,
  label,
}: {
  readonly value: number;
  readonly of: number;
  readonly label: string;
}) {
  const done = Math.min(value, of);
  return (
    <div className="meter">
      <span className="small quiet">{label}</span>
      <div
        className="meter-track"
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={of}
        aria-valuenow={done}
      >
        <div className="meter-indicator" style={{ width: `${of === 0 ? 100 : (100 * done) / of}%` }} />
      </div>
    </div>
  );
}
