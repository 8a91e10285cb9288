// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source as it stands in its file
/** Bugs of the event line: the log, the hand-off, the queue, the delivery. */

import type { Mutant } from "./mutant.ts";

const DELIVERY = "src/webhooks/delivery.ts";

export const eventLine: readonly Mutant[] = [
  {
    name: "event-outside-the-commit",
    breaks: ["I13", "I2"],
    file: "src/store/tenant/event-store.ts",
    find: "newEvent(this.#db, { sequence, id, type, subject, subjectSequence: n, body, createdAt: this.#now });",
    replace:
      "const createdAt = this.#now;\n    setTimeout(() => this.#db.insert(events).values({ sequence, id, type, subject, subjectSequence: n, body, createdAt }).onConflictDoNothing().run(), 100);",
    also: [
      {
        file: "src/store/tenant/event-store.ts",
        find: "insertDepositEvents(this.#db, this.#ofDeposits.splice(0), this.#now);",
        replace:
          "const list = this.#ofDeposits.splice(0);\n    setTimeout(() => insertDepositEvents(this.#db, list, this.#now), 100);",
      },
    ],
  },
  {
    name: "event-of-a-deposit-not-listed",
    breaks: ["I2"],
    file: "src/objects/tenant/commit-deposits.ts",
    find: "row = { ...row, events: [...row.events, event.sequence] };",
    replace: "row = { ...row, events: [] };",
  },
  {
    name: "subject-sequence-not-counted",
    breaks: ["I2", "500", "rest"],
    file: "src/store/tenant/event-store.ts",
    find: "lastSubjectSequence(this.#db, subject)) + 1;",
    replace: "lastSubjectSequence(this.#db, `${subject}?`)) + 1;",
  },
  {
    name: "mark-before-the-hand-off",
    breaks: ["I13"],
    file: "src/objects/tenant/hand-off.ts",
    find: "const endpoint = endpointById(c.db, row.id);",
    replace: "markHanded(c.db, row.id, last.sequence);\n          const endpoint = endpointById(c.db, row.id);",
  },
  {
    name: "enqueue-not-idempotent",
    breaks: ["I13"],
    file: "src/store/endpoint/queue.ts",
    find: "insertDelivery(db, event, 0, now);",
    replace: "enqueueAgain(db, event, new Set(), now);",
  },
  {
    name: "subjects-not-in-order",
    breaks: ["I2"],
    file: "src/store/endpoint/queue.ts",
    find: 'blocked: sql`EXISTS (SELECT 1 FROM deliveries WHERE ${isPending} AND subject = ${placeholder("subject")} AND (sequence, replay) <= (${placeholder("sequence")}, ${placeholder("replay")}))`,',
    replace: "blocked: sql`0`,",
    also: [
      {
        file: "src/store/endpoint/queue.ts",
        find: "if (inserted.blocked === 0) othersBehind",
        replace: "if (inserted.blocked === 1) othersBehind",
      },
    ],
  },
  {
    name: "next-of-a-subject-not-freed",
    breaks: ["rest"],
    file: "src/store/endpoint/queue.ts",
    find: "ORDER BY sequence, replay, position LIMIT 1) FROM json_each(",
    replace: "AND subject_sequence <= 2 ORDER BY sequence, replay, position LIMIT 1) FROM json_each(",
  },
  {
    name: "lease-not-armed",
    breaks: ["rest"],
    file: "src/objects/endpoint/next-wake.ts",
    find: "if (underWay.subjects.size > 0 || underWay.telling) times.push(now + leaseMs);",
    replace: "if (underWay.telling) times.push(now + leaseMs);",
  },
  {
    name: "any-answer-below-400-will-do",
    breaks: ["I13"],
    file: DELIVERY,
    find: 'if (status >= 200 && status <= 299) return "delivered";',
    replace: 'if (status >= 200 && status <= 399) return "delivered";',
  },
  {
    name: "any-answer-will-do",
    breaks: ["I13"],
    file: DELIVERY,
    find: 'return status === 410 ? "gone" : "http_error";',
    replace: 'return status === 410 ? "gone" : "delivered";',
  },
  {
    name: "silence-is-consent",
    breaks: ["I13"],
    file: DELIVERY,
    find: "const outcome = fault?.outcome ?? outcomeOf(answer?.status ?? 0);",
    replace:
      'const outcome = fault?.outcome === "timeout" ? "delivered" : (fault?.outcome ?? outcomeOf(answer?.status ?? 0));',
  },
  {
    name: "retried-under-a-new-id",
    breaks: ["signature"],
    file: DELIVERY,
    find: '"webhook-id": delivery.eventId,',
    replace: '"webhook-id": `${delivery.eventId}-${timestampS}`,',
  },
  {
    name: "given-up-when-gone",
    breaks: ["I13"],
    file: "src/core/webhook-schedule.ts",
    find: 'if (attempt.outcome === "gone") return { kind: "endpoint_gone" };',
    replace: 'if (attempt.outcome === "gone") return { kind: "given_up", failures: failures + 1 };',
  },
  {
    name: "given-up-too-soon",
    breaks: ["I13"],
    file: "src/core/webhook-schedule.ts",
    find: "if (delayMs === undefined) return",
    replace: "if (delayMs === undefined || counted >= 2) return",
  },
  {
    name: "events-of-a-disabled-endpoint-are-gone",
    breaks: ["I13"],
    file: "src/objects/webhook-endpoint.ts",
    find: "else queue.enqueueOnce(this.db, event, now);",
    replace: 'else if (this.configured().status === "enabled") queue.enqueueOnce(this.db, event, now);',
  },
];
