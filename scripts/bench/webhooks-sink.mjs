/**
 * The receiver of the webhook benchmark, a process of its own: HTTP/1.1 by hand, since it must be faster than all that send to it.
 * Answers every POST with 204, holds the answers back while it is told to, checks one signature in a hundred, and
 * sees of each endpoint and subject in which order its events came.
 *
 * In: { begin: { expected, secrets, held } }, "release". Out: { port }, { done: { ... } } when all have come.
 */

import { createHmac } from "node:crypto";
import { createServer } from "node:net";

const ANSWER = Buffer.from("HTTP/1.1 204 No Content\r\n\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const CHECK_EVERY = 100;

let run = null;

function begin({ expected, secrets, held }) {
  run = { expected, secrets, waiting: held ? [] : null, got: 0, last: new Map() };
  Object.assign(run, { firstAt: 0, releasedAt: 0, disorder: 0, again: 0, checked: 0, forged: 0 });
}

function take(path, head, body) {
  run.firstAt ||= now();
  const subject = /"subject":"([^"]*)","subject_sequence":(\d+)/.exec(body.toString("latin1", 0, 400));
  const key = `${path} ${subject?.[1]}`;
  const sequence = Number(subject?.[2]);
  const before = run.last.get(key) ?? 0;
  if (sequence === before) run.again++;
  else if (sequence !== before + 1) run.disorder++;
  if (sequence <= before) return;
  run.last.set(key, sequence);
  if (++run.got % CHECK_EVERY === 0) check(path, head, body);
  if (run.got < run.expected) return;
  const { firstAt, releasedAt, disorder, again, checked, forged } = run;
  process.send({ done: { firstAt, releasedAt, lastAt: now(), disorder, again, checked, forged } });
}

function check(path, head, body) {
  run.checked++;
  const field = (name) => new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1].trim() ?? "";
  const key = Buffer.from(run.secrets[path].slice("whsec_".length), "base64");
  const signed = createHmac("sha256", key)
    .update(`${field("webhook-id")}.${field("webhook-timestamp")}.`)
    .update(body);
  if (field("webhook-signature") !== `v1,${signed.digest("base64")}`) run.forged++;
}

const server = createServer((socket) => {
  let rest = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.indexOf(HEAD_END);
      if (end < 0) return;
      const head = rest.toString("latin1", 0, end);
      const length = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      const next = end + HEAD_END.length + length;
      if (rest.length < next) return;
      take(head.slice(5, head.indexOf(" ", 5)), head, rest.subarray(end + HEAD_END.length, next));
      rest = rest.subarray(next);
      if (run.waiting === null) socket.write(ANSWER);
      else run.waiting.push(socket);
    }
  });
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));

process.on("message", (message) => {
  if (message !== "release") return begin(message.begin);
  const { waiting } = run;
  run.waiting = null;
  run.releasedAt = now();
  for (const socket of waiting ?? []) socket.write(ANSWER);
});
process.on("disconnect", () => process.exit());

/** Unix ms with its fraction. */
function now() {
  return performance.timeOrigin + performance.now();
}
