/** Bugs around what a merchant looks after: its API keys, its webhook secrets and past events, its addresses. */

import type { Mutant } from "./mutant.ts";

const WATCH = "src/objects/scanner/watch.ts";
const KEYS = "src/objects/tenant/keys.ts";

export const houseLine: readonly Mutant[] = [
  {
    name: "revoked-key-works-on",
    breaks: ["key"],
    file: "src/objects/tenant/authorize.ts",
    find: "return key.revokedAt !== null || (end !== null && end <= now);",
    replace: "return end !== null && end <= now;",
  },
  {
    name: "replaced-key-works-on",
    breaks: ["key"],
    file: KEYS,
    find: "endApiKey(c.db, id, { replacedAt: endsAt });",
    replace: "",
  },
  {
    name: "replaced-key-ends-at-once",
    breaks: ["key"],
    file: KEYS,
    find: "createdAt + overlapS * 1_000,",
    replace: "createdAt + overlapS,",
  },
  {
    name: "replaced-key-is-another-hand",
    breaks: ["approval"],
    file: KEYS,
    find: "originId: old.originId ?? old.id,",
    replace: "originId: null,",
  },
  {
    name: "old-secret-ends-at-once",
    breaks: ["signature"],
    file: "src/objects/endpoint/configure.ts",
    find: "replaceKey(db, key, rotationOf(requestId), now + overlapS * 1_000, now);",
    replace: "replaceKey(db, key, rotationOf(requestId), now + overlapS, now);",
  },
  {
    name: "old-secret-signs-on",
    breaks: ["signature"],
    file: "src/store/endpoint/key-store.ts",
    find: 'gt(secrets.endsAt, sql.placeholder("now"))',
    replace: 'gt(sql.placeholder("now"), 0)',
  },
  {
    name: "delivered-is-not-sent-again",
    breaks: ["I13"],
    file: "src/store/endpoint/queue.ts",
    find: 'if (latest?.status === "pending" && !inFlight.has(latest.position)) return latest.position;',
    replace: "if (latest !== undefined && !inFlight.has(latest.position)) return latest.position;",
  },
  {
    name: "enabled-and-asleep",
    breaks: ["rest"],
    file: "src/objects/webhook-endpoint.ts",
    find: "this.sending.pace.beginSlowly();\n    }\n    this.advance();",
    replace: "this.sending.pace.beginSlowly();\n    }",
  },
  {
    name: "given-up-and-still-watched",
    breaks: ["I5", "address"],
    file: WATCH,
    find: "if (open === undefined) return;\n  const until",
    replace: "if (open?.tenant !== -1) return;\n  const until",
  },
  {
    name: "given-up-and-not-waited-for",
    breaks: ["I5"],
    file: WATCH,
    find: "const until = scannedTo + s.network.reorgWindow;",
    replace: "const until = scannedTo;",
  },
  {
    name: "two-owners-at-one-height",
    breaks: ["I5"],
    file: WATCH,
    find: "Math.max(request.startHeight ?? read + 1, (last?.untilHeight ?? -1) + 1)",
    replace: "Math.max(request.startHeight ?? read + 1, (last?.fromHeight ?? -1) + 1)",
  },
  {
    name: "taken-from-its-owner",
    breaks: ["I14", "I5"],
    file: "src/store/d1/claims.ts",
    find: 'return owner === claim.tenantId ? "own" : "taken";',
    replace: 'return "own";',
    also: [
      {
        file: WATCH,
        find: "if (open.tenant !== mark.n) return refuse",
        replace: "if (open.tenant === -1) return refuse",
      },
    ],
  },
];
