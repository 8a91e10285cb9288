/** A change of the rules, line by line, and the question whether to make it. */

import { Badge } from "../../design/text.tsx";
import type { Difference } from "./differences.ts";
import css from "./policies.module.css";

export function Changes({
  of,
  label,
  timing,
}: {
  readonly of: readonly Difference[];
  readonly label: string;
  /** Whether each line says when it holds. */
  readonly timing: boolean;
}) {
  return (
    <ul className={css.changes} aria-label={label}>
      {of.map(({ what, before, after, looser }) => (
        <li key={what}>
          <span className="row row-apart">
            <strong className="break">{what}</strong>
            {timing ? (
              <Badge tone={looser ? "warn" : "info"}>{looser ? "after the cool-down" : "at once"}</Badge>
            ) : null}
          </span>
          <span className="break">
            <span className="quiet">{before}</span> → {after}
          </span>
        </li>
      ))}
    </ul>
  );
}
