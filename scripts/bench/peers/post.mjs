/** What both queues' workers do with a job: sign and POST, on connections that are kept open. */

import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";

/** @param {{ port: number, secrets: Record<string, string>, connections: number }} sink */
export function poster({ port, secrets, connections }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const keys = new Map(Object.entries(secrets).map(([path, one]) => [path, Buffer.from(one.slice(6), "base64")]));
  return ({ path, id, body: text }) =>
    new Promise((resolve, reject) => {
      const body = Buffer.from(text);
      const seconds = String(Math.floor(Date.now() / 1_000));
      const signed = createHmac("sha256", keys.get(path)).update(`${id}.${seconds}.`).update(body).digest("base64");
      const headers = {
        "content-type": "application/json",
        "content-length": body.length,
        "user-agent": "Sluice/1 (+webhooks)",
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": `v1,${signed}`,
      };
      const sent = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (answer) => {
        answer.resume();
        answer.once("end", () => {
          if (answer.statusCode === 204) resolve();
          else reject(new Error(`the sink answered ${answer.statusCode}`));
        });
      });
      sent.once("error", reject);
      sent.end(body);
    });
}

/** Unix ms with its fraction. */
export function now() {
  return performance.timeOrigin + performance.now();
}

/** The jobs of one run: as many events for each endpoint. */
export function jobsOf({ run, paths, each, eventAt }) {
  const jobs = [];
  for (let n = 0; n < each; n++) {
    const { id, body } = eventAt(run, n);
    for (const path of paths) jobs.push({ path, id, body });
  }
  return jobs;
}
