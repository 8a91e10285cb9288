/** Why an entry was posted, with the way to what it happened to. */

import { Link } from "react-router";

export function Cause({ type, id }: { readonly type: string; readonly id: string }) {
  const words = type.replace(".", " ").replaceAll("_", " ");
  const to = placeOf(id);
  return to === null ? <span title={id}>{words}</span> : <Link to={to}>{words}</Link>;
}

/** The page of a deposit or a withdrawal; null: it is neither. */
export function placeOf(id: string): string | null {
  if (id.startsWith("dep_")) return `/deposits/${id}`;
  if (id.startsWith("wd_")) return `/withdrawals/${id}`;
  return null;
}
