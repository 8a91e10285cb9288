// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source as it stands in its file
/** Bugs around a withdrawal: its key, its reservation, its ledger, the people who decide about it. */

import type { Mutant } from "./mutant.ts";

const FOLLOW = "src/objects/tenant/withdrawals/nonces/follow.ts";
const CREATE = "src/objects/tenant/withdrawals/create.ts";
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
    find: "if (hasDebt(c.db, account)) {",
    replace: 'if (hasDebt(c.db, account) && account === "") {',
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
    file: COMMIT,
    find: 'this.#post(whole, "reserved", () => withdrawalReserved(unitsFromText(row.amountUnits)), eventId);',
    replace:
      'setTimeout(() => this.#post(whole, "reserved", () => withdrawalReserved(unitsFromText(row.amountUnits)), eventId), 200);',
  },
  {
    name: "judged-before-the-claim-alone",
    breaks: ["I4", "500"],
    file: CREATE,
    find: "const verdict = judgeIntent(c, intent);",
    replace: "const verdict = early;",
  },
  {
    name: "fingerprint-ignored",
    breaks: ["I10"],
    file: CREATE,
    find: "if (row.fingerprint !== fingerprint) return conflict(c);",
    replace: 'if (row.fingerprint === "") return conflict(c);',
  },
  {
    name: "fingerprint-in-d1-ignored",
    breaks: ["I10"],
    file: "src/store/d1/withdrawals.ts",
    find: "return row.fingerprint === fingerprint ?",
    replace: "return row.fingerprint !== fingerprint.slice(1) ?",
  },
  {
    name: "key-not-claimed-when-d1-is-down",
    breaks: ["I10"],
    file: CREATE,
    find: "const claimed = await claimWithdrawalKey(c.env.DB, claim);",
    replace:
      'const claimed = await claimWithdrawalKey(c.env.DB, claim).catch(() => ({ kind: "own", had: null }) as const);',
  },
  {
    name: "key-released-after-use",
    breaks: ["I10"],
    file: CREATE,
    find: "const made = withdrawalById(c.db, id);",
    replace: "await releaseWithdrawalKey(c.env.DB, claim).catch(() => {});\n  const made = withdrawalById(c.db, id);",
  },
  {
    name: "id-of-the-clock",
    breaks: ["I10"],
    file: CREATE,
    find: 'const id = derivedId("wd", tenantId, account, key);',
    replace: 'const id = derivedId("wd", tenantId, account, key, c.now());',
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
