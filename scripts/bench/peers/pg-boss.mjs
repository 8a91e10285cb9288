/**
 * pg-boss on PostgreSQL: the queue is filled, then one process empties it, with fetches of a hundred and as many completed in one
 * statement, which is its fastest way. Argument: JSON. Prints JSON.
 */

import { PgBoss } from "pg-boss";
import { eventAt } from "../webhooks-events.ts";
import { jobsOf, now, poster } from "./post.mjs";

const { postgres, sinkPort, secrets, run, each, concurrency } = JSON.parse(process.argv[2]);
const BATCH = 100;
const jobs = jobsOf({ run, paths: Object.keys(secrets), each, eventAt });
const post = poster({ port: sinkPort, secrets, connections: concurrency });

const boss = new PgBoss({ connectionString: postgres, supervise: false, schedule: false });
boss.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await boss.start();
const name = `webhooks-${run}`;
await boss.createQueue(name);
const filledFrom = now();
for (let at = 0; at < jobs.length; at += 500) {
  await boss.insert(
    name,
    jobs.slice(at, at + 500).map((data) => ({ data })),
  );
}
const startedAt = now();
// The next batch is fetched while this one is sent, so that nobody waits for the database.
let fetched = boss.fetch(name, { batchSize: BATCH });
let fetching = true;
const ready = [];
const done = [];
let completing = Promise.resolve();
async function sendOn() {
  for (;;) {
    let job = ready.shift();
    if (job === undefined) {
      if (!fetching) return;
      const batch = await fetched;
      if (ready.length === 0 && batch.taken !== true) {
        batch.taken = true;
        fetching = batch.length > 0;
        ready.push(...batch);
        if (fetching) fetched = boss.fetch(name, { batchSize: BATCH });
      }
      job = ready.shift();
      if (job === undefined) continue;
    }
    await post(job.data);
    done.push(job.id);
    if (done.length < BATCH) continue;
    const some = done.splice(0);
    completing = Promise.all([completing, boss.complete(name, some)]);
  }
}
await Promise.all(Array.from({ length: concurrency }, sendOn));
if (done.length > 0) await boss.complete(name, done);
await completing;
const endedAt = now();
await boss.stop({ graceful: false });
console.log(JSON.stringify({ fillMs: startedAt - filledFrom, drainMs: endedAt - startedAt }));
process.exit();
