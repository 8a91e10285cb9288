/** BullMQ on Redis: the queue is filled, then one worker process empties it. Argument: JSON. Prints JSON. */

import { Queue, Worker } from "bullmq";
import { eventAt } from "../webhooks-events.ts";
import { jobsOf, now, poster } from "./post.mjs";

const { redisPort, sinkPort, secrets, run, each, concurrency } = JSON.parse(process.argv[2]);
const connection = { host: "127.0.0.1", port: redisPort, maxRetriesPerRequest: null };
const jobs = jobsOf({ run, paths: Object.keys(secrets), each, eventAt });
const post = poster({ port: sinkPort, secrets, connections: concurrency });

const queue = new Queue(`webhooks-${run}`, { connection });
const filledFrom = now();
for (let at = 0; at < jobs.length; at += 500) {
  const some = jobs.slice(at, at + 500);
  await queue.addBulk(some.map((data) => ({ name: "deliver", data, opts: { removeOnComplete: true } })));
}
const startedAt = now();
let left = jobs.length;
const worker = new Worker(queue.name, (job) => post(job.data), { connection, concurrency, autorun: false });
const endedAt = await new Promise((resolve, reject) => {
  worker.on("completed", () => --left === 0 && resolve(now()));
  worker.on("failed", (_, error) => reject(error));
  worker.on("error", reject);
  worker.run().catch(reject);
});
await worker.close();
await queue.obliterate({ force: true });
await queue.close();
console.log(JSON.stringify({ fillMs: startedAt - filledFrom, drainMs: endedAt - startedAt }));
process.exit();
