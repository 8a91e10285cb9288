/**
 * What a tenant allows itself to pay out. Whatever is stricter holds at once; whatever is looser waits for the
 * cool-down, so that a stolen key cannot lift the limits and empty the wallet in one go. A shorter cool-down
 * is looser, too.
 */

export interface WithdrawalRules {
  /** Seconds before anything looser takes effect. */
  readonly coolDownS: number;
  /** Canonical addresses; null: any destination. */
  readonly allowList: readonly Destination[] | null;
  /** `asset` as inside: `native` or the contract. An asset that is not listed has no limit. */
  readonly limits: readonly AssetLimit[];
  /** Above this amount a person approves. An asset that is not listed needs nobody. */
  readonly approvals: readonly ApprovalRule[];
}

export interface Destination {
  readonly network: string;
  readonly address: string;
}

export interface AssetLimit {
  readonly network: string;
  readonly asset: string;
  readonly perWithdrawalUnits: bigint | null;
  /** Of the last 24 hours together. */
  readonly perDayUnits: bigint | null;
}

export interface ApprovalRule {
  readonly network: string;
  readonly asset: string;
  readonly aboveUnits: bigint;
}

export interface HeldRules {
  readonly current: WithdrawalRules;
  /** `effectiveAt`: milliseconds since 1970, the first at which these rules judge. */
  readonly pending: { readonly rules: WithdrawalRules; readonly effectiveAt: number } | null;
}

export interface JudgedWithdrawal {
  readonly network: string;
  readonly asset: string;
  readonly destination: string;
  readonly amountUnits: bigint;
  /** What was asked for in the last 24 hours of this asset and not refused or given back. */
  readonly lastDayUnits: bigint;
}

export type Judgement =
  | { readonly ok: true; readonly needsApproval: boolean }
  | { readonly ok: false; readonly reason: "destination_not_allowed" }
  | { readonly ok: false; readonly reason: "per_withdrawal" | "per_day"; readonly limitUnits: bigint };

export const NO_WITHDRAWAL_RULES: HeldRules = {
  current: { coolDownS: 86_400, allowList: null, limits: [], approvals: [] },
  pending: null,
};

/** @param now milliseconds since 1970 */
export function rulesAt(held: HeldRules, now: number): WithdrawalRules {
  return held.pending !== null && held.pending.effectiveAt <= now ? held.pending.rules : held.current;
}

/**
 * What is held after a change to `next`. A change that is still waiting is replaced, and the new one waits anew.
 *
 * @param now milliseconds since 1970
 */
export function withRules(held: HeldRules, next: WithdrawalRules, now: number): HeldRules {
  const base = rulesAt(held, now);
  if (!isLooser(next, base)) return { current: next, pending: null };
  return {
    current: stricterOf(base, next),
    pending: { rules: next, effectiveAt: now + base.coolDownS * 1000 },
  };
}

export function judge(rules: WithdrawalRules, withdrawal: JudgedWithdrawal): Judgement {
  const { network, destination, amountUnits, lastDayUnits } = withdrawal;
  if (!allows(rules.allowList, { network, address: destination })) {
    return { ok: false, reason: "destination_not_allowed" };
  }
  const { perWithdrawalUnits, perDayUnits, aboveUnits } = ceilingsOf(rules, withdrawal);
  if (perWithdrawalUnits !== null && amountUnits > perWithdrawalUnits) {
    return { ok: false, reason: "per_withdrawal", limitUnits: perWithdrawalUnits };
  }
  if (perDayUnits !== null && lastDayUnits + amountUnits > perDayUnits) {
    return { ok: false, reason: "per_day", limitUnits: perDayUnits };
  }
  return { ok: true, needsApproval: aboveUnits !== null && amountUnits > aboveUnits };
}

/** Whether what was asked for in the last 24 hours counts for an asset. */
export function hasDayLimit(rules: WithdrawalRules, asset: Asset): boolean {
  return ceilingsOf(rules, asset).perDayUnits !== null;
}

/** For storage; amounts as decimal strings. */
export function rulesToText(held: HeldRules): string {
  return JSON.stringify(held, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

/** @throws when the text is not what `rulesToText` wrote */
export function rulesFromText(text: string): HeldRules {
  return JSON.parse(text, (key, value: unknown) => {
    if (!key.endsWith("Units") || value === null) return value;
    if (typeof value !== "string" || !/^\d+$/.test(value)) {
      throw new Error(`stored withdrawal rules: expected ${key} as a decimal string, got ${JSON.stringify(value)}`);
    }
    return BigInt(value);
  }) as HeldRules;
}

interface Asset {
  readonly network: string;
  readonly asset: string;
}

/** The three ceilings of one asset; null: none. */
interface Ceilings {
  readonly perWithdrawalUnits: bigint | null;
  readonly perDayUnits: bigint | null;
  readonly aboveUnits: bigint | null;
}

/** Where an asset is listed more than once, the lowest of each counts. */
function ceilingsOf(rules: WithdrawalRules, { network, asset }: Asset): Ceilings {
  const own = <T extends Asset>(list: readonly T[]) => list.filter((e) => e.network === network && e.asset === asset);
  return {
    perWithdrawalUnits: lowest(own(rules.limits).map((limit) => limit.perWithdrawalUnits)),
    perDayUnits: lowest(own(rules.limits).map((limit) => limit.perDayUnits)),
    aboveUnits: lowest(own(rules.approvals).map((approval) => approval.aboveUnits)),
  };
}

function isLooser(next: WithdrawalRules, base: WithdrawalRules): boolean {
  if (next.coolDownS < base.coolDownS) return true;
  if (base.allowList !== null) {
    if (next.allowList === null) return true;
    if (next.allowList.some((destination) => !allows(base.allowList, destination))) return true;
  }
  return assetsOf(base).some((asset) => {
    const before = ceilingsOf(base, asset);
    const after = ceilingsOf(next, asset);
    return (
      isHigher(after.perWithdrawalUnits, before.perWithdrawalUnits) ||
      isHigher(after.perDayUnits, before.perDayUnits) ||
      isHigher(after.aboveUnits, before.aboveUnits)
    );
  });
}

/** Refuses what either refuses, and wants approved what either wants approved. */
function stricterOf(a: WithdrawalRules, b: WithdrawalRules): WithdrawalRules {
  const joint: WithdrawalRules = {
    ...a,
    limits: [...a.limits, ...b.limits],
    approvals: [...a.approvals, ...b.approvals],
  };
  const limits: AssetLimit[] = [];
  const approvals: ApprovalRule[] = [];
  for (const { network, asset } of assetsOf(joint)) {
    const { perWithdrawalUnits, perDayUnits, aboveUnits } = ceilingsOf(joint, { network, asset });
    if (perWithdrawalUnits !== null || perDayUnits !== null) {
      limits.push({ network, asset, perWithdrawalUnits, perDayUnits });
    }
    if (aboveUnits !== null) approvals.push({ network, asset, aboveUnits });
  }
  const allowList = a.allowList?.filter((destination) => allows(b.allowList, destination)) ?? b.allowList;
  return { coolDownS: Math.max(a.coolDownS, b.coolDownS), allowList, limits, approvals };
}

/** Each asset named by a limit or an approval, once. */
function assetsOf(rules: WithdrawalRules): readonly Asset[] {
  const named: readonly Asset[] = [...rules.limits, ...rules.approvals];
  return [...new Map(named.map((asset) => [JSON.stringify([asset.network, asset.asset]), asset])).values()];
}

function allows(allowList: readonly Destination[] | null, { network, address }: Destination): boolean {
  return allowList === null || allowList.some((entry) => entry.network === network && entry.address === address);
}

/** null is no ceiling, above every other. */
function isHigher(a: bigint | null, b: bigint | null): boolean {
  return b !== null && (a === null || a > b);
}

function lowest(ceilings: readonly (bigint | null)[]): bigint | null {
  return ceilings.reduce((low, ceiling) => (isHigher(low, ceiling) ? ceiling : low), null);
}
