// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source as it stands in its file
/** Bugs around a withdrawal: its key, its reservation, its ledger, the people who decide about it. */

import type { Mutant } from "./mutant.ts";

const FOLLOW = "src/objects/tenant/withdrawals/nonces/follow.ts";
const CREATE = "src/objects/tenant/withdrawals/create.ts";
const RESERVATIONS = "src/objects/tenant/withdrawals/reservations.ts";
const COMMIT = "src/objects/tenant/withdrawals/commit.ts";
const BY_HAND = "src/objects/tenant/withdrawals/by-hand.ts";

export const reservations: readonly Mutant[] = [
  {
    name: "reopened-without-a-posting",
    breaks: ["I11"],
    file: COMMIT,
    find: 'this.#post(row, "reopened", () => withdrawalReopened(units), eventId);',
    replace: "void [withdrawalReopened, units];",
  },
  {
    name: "released-twice",
    breaks: ["I11", "I3"],
    file: COMMIT,
    find: 'this.#post(row, "released", (balance) => withdrawalReleased(balance, units), eventId);',
    replace: `for (const id of [row.id, \`\${row.id}/again\`])
        this.#post({ ...row, id }, "released", (balance) => balance.reserved < units ? [] : withdrawalReleased(balance, units), eventId);`,
  },
  {
    name: "released-beside-a-debt",
    breaks: ["I4"],
    file: "src/core/ledger.ts",
    find: '["reserved", "available", amountUnits], ["available", "debt", repaid]',
    replace: '["reserved", "available", amountUnits + 0n * repaid]',
  },
  {
    name: "frozen-account-pays",
    breaks: ["I4"],
    file: "src/objects/tenant/withdrawals/judge.ts",
    find: "if (standing.hasDebt(account)) {",
    replace: 'if (standing.hasDebt(account) && account === "") {',
  },
  {
    name: "fee-booked-at-confirmation-and-at-finality",
    breaks: ["I3"],
    file: COMMIT,
    find: 'const id = derivedId("jrn", "network-fee", network, sender, nonce);',
    replace: 'const id = derivedId("jrn", "network-fee", network, sender, nonce, this.#now);',
    also: [
      {
        file: FOLLOW,
        find: "if (!news.isFinal) return;\n  changeSlot",
        replace:
          'if (row?.state === "confirmed" && isNew) commit.bookFee(slot, slot.withdrawalId, feeUnits);\n  if (!news.isFinal) return;\n  changeSlot',
      },
    ],
  },
  {
    name: "reserved-later",
    breaks: ["I11"],
    file: RESERVATIONS,
    find: "this.#standing.write();",
    replace: "setTimeout(() => this.#standing.write(), 200);",
  },
  {
    name: "judged-before-the-claim-alone",
    breaks: ["I4", "500"],
    file: CREATE,
    find: "const verdict = judgeIntent(one.job.intent, standing);",
    replace: "const verdict = { ok: true, needsApproval: false };",
  },
  {
    name: "fingerprint-ignored",
    breaks: ["I10"],
    file: CREATE,
    find: 'if (use === "other_call" || use.fingerprint !== fingerprint) return conflict(c);',
    replace: 'if (use === "other_call" || use.fingerprint === "") return conflict(c);',
  },
  {
    name: "fingerprint-in-d1-ignored",
    breaks: ["I10"],
    file: "src/store/d1/withdrawals.ts",
    find: "return row.is_own === 1 ?",
    replace: "return row.is_own !== 2 ?",
  },
  {
    name: "key-not-claimed-when-d1-is-down",
    breaks: ["I10"],
    file: CREATE,
    find: "const claimed = await claimWithdrawalKeys(c.env.DB, tenantId, claims, { now, workDueAt: now + FIRST_PATROL_MS });",
    replace:
      'const claimed = await claimWithdrawalKeys(c.env.DB, tenantId, claims, { now, workDueAt: now + FIRST_PATROL_MS }).catch(() => claims.map(() => ({ kind: "own", had: null })));',
  },
  {
    name: "key-released-after-use",
    breaks: ["I10"],
    file: CREATE,
    find: "if (refused.length === 0) return;",
    replace:
      "await releaseWithdrawalKeys(c.env.DB, tenantId, claims).catch(() => {});\n  if (refused.length === 0) return;",
  },
  {
    name: "id-of-the-clock",
    breaks: ["I10"],
    file: CREATE,
    find: 'return derivedId("wd", tenantId, intent.account, key);',
    replace: 'return derivedId("wd", tenantId, intent.account, key, Date.now());',
  },
  {
    name: "cancel-after-nonce",
    breaks: ["I6", "I9"],
    file: BY_HAND,
    find: "if (!isUntouched(row))\n      return illegal(row, `It can be",
    replace: 'if (!isUntouched(row) && row.state !== "broadcast_pending")\n      return illegal(row, `It can be',
    also: [
      {
        file: "src/core/withdrawal.ts",
        find: 'broadcast_pending: ["confirmation_tracking", "manual_review"]',
        replace: 'broadcast_pending: ["confirmation_tracking", "manual_review", "cancelled"]',
      },
    ],
  },
  {
    name: "creator-approves",
    breaks: ["approval"],
    file: BY_HAND,
    find: "if (originOfKey(c.db, row.creatorKeyId) === originOfKey(c.db, keyId)) {",
    replace: "if (originOfKey(c.db, row.creatorKeyId) === `${originOfKey(c.db, keyId)}?`) {",
  },
  {
    name: "nobody-is-asked-to-approve",
    breaks: ["approval"],
    file: "src/core/withdrawal-policy.ts",
    find: "needsApproval: aboveUnits !== null && amountUnits > aboveUnits",
    replace: "needsApproval: aboveUnits !== null && amountUnits > aboveUnits * 10n",
  },
  {
    name: "follow-up-not-armed-again",
    breaks: ["rest"],
    file: "src/objects/tenant/base.ts",
    find: "await this.#arm((await this.#workOff()) ? null : this.clock() + RETRY_MS);",
    replace: "await this.#workOff();",
  },
];
