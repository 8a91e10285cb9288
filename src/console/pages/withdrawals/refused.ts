/** At which field a refusal of a withdrawal belongs, where the service names its reason and no field. */

import { InvalidRequestError, SluiceError } from "../../../sdk/errors.ts";

const FIELD_OF: Record<string, string> = {
  insufficient_funds: "amount",
  limit_exceeded: "amount",
  destination_not_allowed: "destination",
  invalid_destination: "destination",
  account_frozen: "account",
  unknown_network: "network",
  unknown_asset: "asset",
};

/** The same refusal, at its field. */
export function placed(error: unknown): unknown {
  if (!(error instanceof SluiceError) || error.errors.length > 0) return error;
  const path = FIELD_OF[error.code];
  if (path === undefined) return error;
  const { code, status, requestId } = error;
  return new InvalidRequestError(error.message, {
    code,
    status,
    requestId,
    errors: [{ path, message: wordsOf(error) }],
  });
}

/** A refusal that an estimate foretells, at its field; null: there is none, or it belongs to no field. */
export function foretold(refusal: { readonly code: string; readonly detail: string } | null): unknown {
  if (refusal === null || FIELD_OF[refusal.code] === undefined) return null;
  return placed(new InvalidRequestError(refusal.detail, { code: refusal.code }));
}

/** What the service said, without which call it said it to. */
function wordsOf({ message, code }: SluiceError): string {
  const mark = `${code}: `;
  const at = message.indexOf(mark);
  return at === -1 ? message : message.slice(at + mark.length);
}
