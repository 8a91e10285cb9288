/**
 * What a change of the rules changes, one line for each thing, and whether the service takes it as looser: that waits for
 * the cool-down, everything else holds at once. The service decides; this is what a person is told before they confirm.
 */

import type { ConfirmationRule, NewConfirmationRules, WithdrawalRules } from "../../../sdk/types.ts";

export interface Difference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
  /** It waits for the cool-down. */
  readonly looser: boolean;
}

export function withdrawalDifferences(before: WithdrawalRules, after: WithdrawalRules): Difference[] {
  return [
    ...coolDown(before, after),
    ...allowList(before, after),
    ...ceilings("for one withdrawal", limitsOf(before, "per_withdrawal"), limitsOf(after, "per_withdrawal")),
    ...ceilings("in 24 hours", limitsOf(before, "per_day"), limitsOf(after, "per_day")),
    ...ceilings("without an approval", approvalsOf(before), approvalsOf(after)),
  ];
}

function coolDown({ cool_down_seconds: before }: WithdrawalRules, { cool_down_seconds: after }: WithdrawalRules) {
  if (before === after) return [];
  return [{ what: "Cool-down", before: `${before} s`, after: `${after} s`, looser: after < before }];
}

function allowList({ allow_list: before }: WithdrawalRules, { allow_list: after }: WithdrawalRules): Difference[] {
  const told = (list: WithdrawalRules["allow_list"]) =>
    list === null ? "any" : list.length === 0 ? "none" : `${list.length} listed`;
  const what = "Destinations";
  if (before === null && after === null) return [];
  if (before === null || after === null) {
    return [{ what, before: told(before), after: told(after), looser: after === null }];
  }
  const had = new Set(before.map(nameOf));
  const has = new Set(after.map(nameOf));
  return [
    ...before
      .filter((one) => !has.has(nameOf(one)))
      .map((one) => ({
        what: `${one.address} on ${one.network}`,
        before: "allowed",
        after: "not allowed",
        looser: false,
      })),
    ...after
      .filter((one) => !had.has(nameOf(one)))
      .map((one) => ({
        what: `${one.address} on ${one.network}`,
        before: "not allowed",
        after: "allowed",
        looser: true,
      })),
  ];
}

/** Hexadecimal addresses are the same in any case; of others only one spelling is. */
function nameOf({ network, address }: { readonly network: string; readonly address: string }): string {
  return `${network} ${/^0x/i.test(address) ? address.toLowerCase() : address}`;
}

/** By asset; null or missing: no ceiling. */
type Ceilings = ReadonlyMap<string, string | null>;

function limitsOf({ limits }: WithdrawalRules, which: "per_withdrawal" | "per_day"): Ceilings {
  return new Map(limits.map((limit) => [`${limit.asset} on ${limit.network}`, limit[which]]));
}

function approvalsOf({ approvals }: WithdrawalRules): Ceilings {
  return new Map(approvals.map(({ asset, network, above }) => [`${asset} on ${network}`, above]));
}

function ceilings(kind: string, before: Ceilings, after: Ceilings): Difference[] {
  const told = (ceiling: string | null) => ceiling ?? "no limit";
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((asset) => {
    const had = before.get(asset) ?? null;
    const has = after.get(asset) ?? null;
    if (had === has || (had !== null && has !== null && compareDecimals(had, has) === 0)) return [];
    const looser = had !== null && (has === null || compareDecimals(has, had) > 0);
    return [{ what: `Most ${asset} ${kind}`, before: told(had), after: told(has), looser }];
  });
}

export function isDecimal(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}

/** Exactly, whatever their length. @returns below, at, or above zero, as `a` is to `b` */
export function compareDecimals(a: string, b: string): number {
  const [wholeA = "", partA = ""] = a.split(".");
  const [wholeB = "", partB = ""] = b.split(".");
  const digits = Math.max(partA.length, partB.length);
  const x = BigInt(wholeA + partA.padEnd(digits, "0"));
  const y = BigInt(wholeB + partB.padEnd(digits, "0"));
  return x === y ? 0 : x > y ? 1 : -1;
}

/** When payments count. All of it holds at once, for payments that are seen from then on. */
export function confirmationDifferences(before: NewConfirmationRules, after: NewConfirmationRules): Difference[] {
  const had = linesOf(before);
  const has = linesOf(after);
  return [...new Set([...had.keys(), ...has.keys()])].flatMap((what) => {
    const was = had.get(what) ?? NOT_SAID;
    const is = has.get(what) ?? NOT_SAID;
    return was === is ? [] : [{ what, before: was, after: is, looser: false }];
  });
}

const NOT_SAID = "no rule of its own";

function linesOf({ default: own, assets = {} }: NewConfirmationRules): Map<string, string> {
  const lines: [string, string | null][] = [["Every asset", ruleInWords(own ?? null)]];
  for (const [symbol, rules] of Object.entries(assets)) {
    lines.push([symbol, ruleInWords(rules.default ?? null)]);
    for (const { from, confirmations } of rules.amounts ?? []) {
      lines.push([`${symbol} from ${from}`, ruleInWords(confirmations)]);
    }
  }
  return new Map(lines.flatMap(([what, rule]) => (rule === null ? [] : [[what, rule] as const])));
}

/** null: it says nothing. */
export function ruleInWords(rule: ConfirmationRule | null): string | null {
  if (rule === null) return null;
  if (rule === "finalized") return "when it is final";
  return rule === 1 ? "1 block" : `${rule} blocks`;
}
