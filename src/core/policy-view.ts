/** Policies as merchants write and see them: asset symbols and decimal amounts. */

import type { ConfirmationRules } from "./policy.ts";

export interface PoliciesView {
  confirmations: Record<string, ConfirmationRules>;
  withdrawals: {
    /** What holds now. */
    current: WithdrawalRulesView;
    /** What was asked for last and is looser; null when nothing waits. */
    pending: { rules: WithdrawalRulesView; effective_at: string } | null;
  };
}

/** As merchants write it: asset symbols and decimal amounts. */
export interface WithdrawalRulesView {
  /** Seconds before anything looser takes effect. */
  cool_down_seconds: number;
  /** null: any destination. */
  allow_list: { network: string; address: string }[] | null;
  /** Both amounts are of one asset; null: no limit. A day is the last 24 hours. */
  limits: { network: string; asset: string; per_withdrawal: string | null; per_day: string | null }[];
  /** From above this amount on, another key must approve. */
  approvals: { network: string; asset: string; above: string }[];
}
