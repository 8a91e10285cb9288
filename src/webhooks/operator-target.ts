/** Where the operator's own webhook goes and what signs it, as the settings have it: the same rules as for merchants'. */

import { checkSecret } from "./signature.ts";
import { checkTarget, type TargetPolicy } from "./target.ts";

export interface OperatorWebhook {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
}

const EXPECTED_SECRET =
  'expected whsec_ and 24 to 64 random bytes in base64, e.g. from: echo "whsec_$(openssl rand -base64 32)"';

/**
 * Null with no problems: neither is set. The problems name the settings, and show nothing of the secret and of the URL
 * at most its host.
 */
export function operatorWebhookFrom(
  url: unknown,
  secret: unknown,
  policy: TargetPolicy,
): { readonly webhook: OperatorWebhook | null; readonly problems: readonly string[] } {
  const [target, key] = [textOf(url), textOf(secret)];
  if (target === "" && key === "") return { webhook: null, problems: [] };
  const problems: string[] = [];
  if (target === "") problems.push("OPERATOR_WEBHOOK_URL: missing, though OPERATOR_WEBHOOK_SECRET is set");
  else {
    const check = checkTarget(target, policy);
    if (!check.ok) problems.push(`OPERATOR_WEBHOOK_URL: ${check.detail}`);
  }
  if (key === "") problems.push(`OPERATOR_WEBHOOK_SECRET: missing; ${EXPECTED_SECRET}`);
  else if (!key.startsWith("whsec_") || !checkSecret(key))
    problems.push(`OPERATOR_WEBHOOK_SECRET: does not read; ${EXPECTED_SECRET}`);
  return { webhook: problems.length === 0 ? { url: target, secret: key } : null, problems };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
