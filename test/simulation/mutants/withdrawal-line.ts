/** Bugs of the withdrawal line: nonces, bytes, and what the chain made of them. */

import type { Mutant } from "./mutant.ts";

const FOLLOW = "src/objects/tenant/withdrawals/nonces/follow.ts";
const SEND = "src/objects/tenant/withdrawals/nonces/send.ts";
const SIGN = "src/objects/tenant/withdrawals/nonces/sign.ts";
const ALLOCATE = "src/objects/tenant/withdrawals/nonces/allocate.ts";
const SETTLE = "src/objects/tenant/withdrawals/settle.ts";
const BY_HAND = "src/objects/tenant/withdrawals/by-hand.ts";

export const withdrawalLine: readonly Mutant[] = [
  {
    name: "latest-for-finalized",
    breaks: ["I9", "I6"],
    file: "src/chains/evm/wallet-look.ts",
    find: "return Math.max(-1, head.height - reorgWindow);",
    replace: "return Math.max(-1, head.height - 0 * reorgWindow);",
  },
  {
    name: "latest-for-the-finalized-tag",
    breaks: ["I9", "I6"],
    file: "src/chains/evm/wallet-look.ts",
    find: 'if (network.finality === "tag") calls.push(blockCall("finalized"));',
    replace: 'if (network.finality === "tag") calls.push(blockCall("latest"));',
  },
  {
    // Alone it is refused by the slot's own key: the nonce is then taken once the pools have it again.
    name: "nonce-from-pending",
    breaks: ["I9", "I6", "I7", "rest"],
    file: ALLOCATE,
    find: "openGap(payer, look) ?? Math.max(walletOf(payer).nextNonce, look.nonceLatest)",
    replace: "openGap(payer, look) ?? look.noncePending",
    also: [
      {
        file: "src/store/tenant/slot-store.ts",
        find: "db.insert(slots).values(row).run();",
        replace:
          "db.insert(slots)\n    .values(row)\n    .onConflictDoUpdate({ target: [slots.network, slots.sender, slots.nonce], set: row })\n    .run();",
      },
    ],
  },
  {
    name: "nonce-not-claimed",
    breaks: ["I7"],
    file: ALLOCATE,
    find: "const claimed = await claimNonce(c.env.DB, claim);",
    replace: 'const claimed = claim === null ? await claimNonce(c.env.DB, claim) : ({ kind: "own" } as const);',
  },
  {
    name: "lost-nonce-claim-taken-as-refused",
    breaks: ["I6", "I7", "rest"],
    file: ALLOCATE,
    find: "const claimed = await claimNonce(c.env.DB, claim);",
    replace: 'const claimed = await claimNonce(c.env.DB, claim).catch(() => ({ kind: "taken" }) as const);',
  },
  {
    name: "signed-before-claimed",
    breaks: ["I7"],
    file: SIGN,
    find: "if (slot.claimed === 0 || slot.minedTxId !== null) return null;",
    replace: "if (slot.minedTxId !== null) return null;",
  },
  {
    name: "replacement-takes-the-next-nonce",
    breaks: ["I16", "I6"],
    file: SIGN,
    find: "const base = { chainId: network.chainId, nonce: slot.nonce, fees };",
    replace: "const base = { chainId: network.chainId, nonce: slot.nonce + attempts.length, fees };",
  },
  {
    name: "sent-before-stored",
    breaks: ["I8"],
    file: SIGN,
    find: "store(payer, slot, attempts, { kind, intent, signed: read.signed, head: look.head });",
    replace: `await Promise.all(payer.nodes.map((node) => node.send(read.signed.raw)));
  store(payer, slot, attempts, { kind, intent, signed: read.signed, head: look.head });`,
  },
  {
    name: "replacement-stored-in-its-place",
    breaks: ["I6", "I8", "I9", "rest"],
    file: SIGN,
    find: "insertAttempt(c.db, {\n      network",
    replace:
      "for (const { txId } of attempts) c.storage.sql.exec(`DELETE FROM attempts WHERE tx_id = ?`, txId);\n    insertAttempt(c.db, {\n      network",
  },
  {
    name: "only-the-last-attempt-is-followed",
    breaks: ["I6", "rest"],
    file: "src/objects/tenant/withdrawals/nonces/payer.ts",
    find: "const own = attemptsOf(c.db, slot).map(({ txId }) => txId);",
    replace: "const own = attemptsOf(c.db, slot).slice(-1).map(({ txId }) => txId);",
  },
  {
    name: "fee-not-raised",
    breaks: ["rest"],
    file: "src/core/fees.ts",
    find: "return larger((value * 1125n + 999n) / 1000n, value + 1n);",
    replace: "return larger((value * 1000n) / 1000n, value);",
  },
  {
    name: "not-sent-again",
    breaks: ["rest"],
    file: SEND,
    find: "if (attempt.lastSentAt !== null && c.now() - attempt.lastSentAt < RESEND_MS) continue;",
    replace: "if (attempt.lastSentAt !== null && RESEND_MS > 0) continue;",
    also: [
      {
        file: SIGN,
        find: "const isOld = look.head - last.signedHeight >= payer.network.payout.replaceAfterBlocks;",
        replace: "const isOld = false;",
      },
    ],
  },
  {
    name: "release-at-the-deadline",
    breaks: ["I9", "I6"],
    file: SETTLE,
    find: 'const asked: Move = { to: "manual_review", reason,',
    replace:
      'const asked: Move = { to: row.state === "confirmation_tracking" && reason === "deadline" ? "failed" : "manual_review", reason,',
  },
  {
    name: "release-on-an-unknown-answer",
    breaks: ["I9", "I6"],
    file: SEND,
    find: 'case "setup_fault":\n      stopWallet',
    replace: `case "unknown":
      if (row?.state === "confirmation_tracking") commit.move(row, { to: "failed", reason: "send_failed" });
      break;
    case "setup_fault":
      stopWallet`,
  },
  {
    name: "release-on-nonce-too-low",
    breaks: ["I9", "I6"],
    file: SEND,
    find: 'case "setup_fault":\n      stopWallet',
    replace: `case "nonce_consumed":
      if (row?.state === "confirmation_tracking") commit.move(row, { to: "failed", reason: "nonce_too_low" });
      break;
    case "setup_fault":
      stopWallet`,
  },
  {
    name: "release-on-a-persons-word",
    breaks: ["I9", "I6"],
    file: BY_HAND,
    find: 'if (open === null) return moves(row, { to: "failed"',
    replace: 'if (open === null || open.minedTxId === null) return moves(row, { to: "failed"',
  },
  {
    name: "release-on-a-reverted-block-not-final",
    breaks: ["I9", "I6"],
    file: SETTLE,
    find: "} else if (isFinal) {",
    replace: "} else {",
  },
  {
    name: "status-0-counts-as-paid",
    breaks: ["I6"],
    file: FOLLOW,
    find: 'const succeeded = attempt.kind === "payment" && receipt.success;',
    replace: 'const succeeded = attempt.kind === "payment";',
  },
  {
    name: "burn-counts-as-paid",
    breaks: ["I6"],
    file: FOLLOW,
    find: 'const succeeded = attempt.kind === "payment" && receipt.success;',
    replace: "const succeeded = receipt.success;",
  },
  {
    name: "transfer-log-not-looked-for",
    breaks: ["I6"],
    file: FOLLOW,
    find: "return showsPayment(receipt.logs, {",
    replace: "return receipt.success || showsPayment(receipt.logs, {",
  },
  {
    name: "quorum-of-one",
    breaks: ["I9", "I6"],
    file: "src/core/wallet-look.ts",
    find: "return Math.min(providers, Math.max(2, Math.floor(providers / 2) + 1));",
    replace: "return Math.min(providers, 1);",
  },
  {
    name: "confirmed-for-ever",
    breaks: ["I6"],
    file: SETTLE,
    find: 'if (row.state !== "confirmed" || isPersonsWord(c, row)) return;',
    replace: 'if (row.state !== "confirmed" || isPersonsWord(c, row) || evidence !== "") return;',
  },
];
