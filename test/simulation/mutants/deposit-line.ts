// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source as it stands in its file
/** Bugs of the deposit line: reading, claiming, telling, crediting. */

import type { Mutant } from "./mutant.ts";

export const depositLine: readonly Mutant[] = [
  {
    name: "block-log-index-in-key",
    breaks: ["I5"],
    file: "src/chains/evm/settle.ts",
    find: "transferIndex: `log:${ordinal}`",
    replace: "transferIndex: `log:${log.logIndex}`",
  },
  {
    name: "equal-transfers-are-one",
    breaks: ["I5"],
    file: "src/chains/evm/settle.ts",
    find: "if (transfer) found.push({ transfer, txIndex: facts.txIndex, place: hit.place });",
    replace: `const isTwin = (other: { transfer: Transfer }) =>
      transfer !== null && other.transfer.txId === transfer.txId && other.transfer.address === transfer.address &&
      other.transfer.amountUnits === transfer.amountUnits;
    if (transfer && !found.some(isTwin)) found.push({ transfer, txIndex: facts.txIndex, place: hit.place });`,
  },
  {
    name: "failed-transaction-counts",
    breaks: ["I5"],
    file: "src/chains/evm/settle.ts",
    find: "if (facts.status !== 1) return null;",
    replace: "",
  },
  {
    name: "failed-internal-call-counts",
    breaks: ["I5"],
    file: "src/chains/evm/call-traces.ts",
    find: "if (frame.failed || isPrecompile(frame.to)) continue;",
    replace: "if (isPrecompile(frame.to)) continue;",
  },
  {
    name: "links-unchecked",
    breaks: ["I15", "I5", "I17"],
    file: "src/objects/scanner/extend.ts",
    find: 'if (first.parentHash !== tip.hash) return { kind: "forked" };',
    replace: "",
    also: [
      {
        file: "src/objects/scanner/extend.ts",
        find: "if (broken !== -1) throw",
        replace: "if (broken === -2) throw",
      },
    ],
  },
  {
    name: "due-later-than-said",
    breaks: ["I5", "rest"],
    file: "src/core/dues.ts",
    find: "return { due: ranges.filter(([at]) => at <= height), later: ranges.filter(([at]) => at > height) };",
    replace: "return { due: [], later: ranges.filter(([at]) => at > height) };",
  },
  {
    name: "removals-forgotten",
    breaks: ["I5"],
    file: "src/objects/scanner/extend.ts",
    find: "insertRemovals(s.db, gone, version);",
    replace: "",
  },
  {
    name: "added-under-the-old-version",
    breaks: ["I5"],
    file: "src/objects/scanner/extend.ts",
    find: "insertTransfers(s.db, fresh, version);",
    replace: "insertTransfers(s.db, fresh, state.version);",
  },
  {
    name: "cursor-outruns-the-reading",
    breaks: ["I5", "I15", "rest"],
    file: "src/objects/scanner/extend.ts",
    find: "const to = blocks.at(-1)?.height ?? parent.height;\n  const version",
    replace: "const to = (blocks.at(-1)?.height ?? parent.height) + (blocks.length > 1 ? 1 : 0);\n  const version",
  },
  {
    name: "start-height-not-read-back",
    breaks: ["I5"],
    file: "src/objects/scanner/watch.ts",
    find: "if (watchedFrom <= read) {",
    replace: "if (watchedFrom < scannedTo - s.network.reorgWindow) {",
  },
  {
    name: "told-before-claimed",
    breaks: ["I5"],
    file: "src/objects/scanner/deliver.ts",
    find: "(mark) => isClaimed || mark.dirty === 0",
    replace: "() => isClaimed || true",
  },
  {
    name: "claim-overwritten-in-d1",
    breaks: ["I5"],
    file: "src/store/d1/claims.ts",
    find: "ON CONFLICT (network, tx_id, transfer_index) DO NOTHING",
    replace: "ON CONFLICT (network, tx_id, transfer_index) DO UPDATE SET tenant_id = excluded.tenant_id",
  },
  {
    name: "refused-claim-is-kept",
    breaks: ["I5"],
    file: "src/objects/scanner/claim.ts",
    find: "for (const transfer of conflicts) deleteTransfer(s.db, transfer);",
    replace: "void [conflicts, deleteTransfer];",
  },
  {
    name: "lost-claim-taken-as-made",
    breaks: ["I5"],
    file: "src/objects/scanner/claim.ts",
    find: "const { conflicts, fresh, again } = await claimTransfers(s, [...waiting]);",
    replace:
      "const { conflicts, fresh, again } = await claimTransfers(s, [...waiting]).catch(() => ({ conflicts: [], fresh: 0, again: 0 }));",
  },
  {
    name: "mark-cleared-without-an-answer",
    breaks: ["I5"],
    file: "src/objects/scanner/deliver.ts",
    find: "updateTenant(s.db, mark.n, { failures, retryAt: s.now() + rest });",
    replace:
      "updateTenant(s.db, mark.n, { failures, retryAt: s.now() + rest, dirty: 0, ackedVersion: stateOf(s).version });",
  },
  {
    name: "poll-not-armed-again",
    breaks: ["rest"],
    file: "src/objects/chain-scanner.ts",
    find: "if (!isActive(s)) return;",
    replace: "if (!isActive(s) || !more) return;",
  },
  {
    name: "confirmed-a-block-early",
    breaks: ["I5"],
    file: "src/core/watcher.ts",
    find: "if (view.head - told.height + 1 < depthAsked(told)) return false;",
    replace: "if (view.head - told.height + 2 < depthAsked(told)) return false;",
  },
  {
    name: "confirmed-is-dropped-silently",
    breaks: ["I1", "I5"],
    file: "src/core/watcher.ts",
    find: 'return told.status === "pending"\n    ? { type: "dropped"',
    replace: 'return told.status !== "settled"\n    ? { type: "dropped"',
  },
  {
    name: "gone-only-while-pending",
    breaks: ["I5"],
    file: "src/core/watcher.ts",
    find: "if (now !== null && isLive && (seen === null",
    replace: 'if (now !== null && isLive && (now.status === "pending" || seen !== null) && (seen === null',
  },
  {
    name: "debt-ignored",
    breaks: ["I4"],
    file: "src/core/ledger.ts",
    find: '["chain", "debt", repaid], ["chain", "available", amountUnits - repaid]',
    replace: '["chain", "available", amountUnits + 0n * repaid]',
  },
  {
    name: "reverted-takes-what-is-there",
    breaks: ["I5"],
    file: "src/core/ledger.ts",
    find: '["available", "chain", covered], ["debt", "chain", amountUnits - covered]',
    replace: '["available", "chain", covered]',
  },
  {
    name: "backfill-forgets-what-was-told",
    breaks: ["I17"],
    file: "src/objects/tenant/observe.ts",
    find: 'if (row !== null && row.status === "settled") {\n      alreadyKnown++;\n      continue;',
    replace: 'if (row !== null && row.status === "settled") {\n      added++;\n      continue;',
  },
  {
    name: "backfill-tells-again",
    breaks: ["I17", "I1"],
    file: "src/objects/tenant/observe.ts",
    find: "const decision = decide(row === null ? null : toTold(row), transfer, commit.view, rule);",
    replace:
      'const decision = decide(row === null ? null : { ...toTold(row), status: row.status === "settled" ? "confirmed" : row.status }, transfer, commit.view, rule);',
    also: [
      {
        file: "src/objects/tenant/observe.ts",
        find: 'if (row !== null && row.status === "settled") {',
        replace: 'if (row !== null && row.status === "dropped" && row.height < 0) {',
      },
      {
        file: "src/objects/tenant/commit-deposits.ts",
        find: 'const settledBefore = step.type === "settled" && row.settledAt !== null;',
        replace: "const settledBefore = false;",
      },
    ],
  },
];
