/**
 * Owns: `npm run audit:verify`: reads a tenant's whole audit log through the API, or an export of it, recomputes the
 * chain, and says where it breaks or what its head is. Ends with 1 when it is broken, with 2 when it cannot be read.
 *
 * The key comes from SLUICE_API_KEY or a file, never from the command line: others on the machine can read that.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type AuditEntry, type AuditHead, Sluice, verifyAuditLog } from "../src/sdk/index.ts";

const USAGE = `usage: npm run audit:verify -- --url https://sluice.example.com [--key-file FILE] [--expect SEQUENCE:HASH]... [--export FILE]
       npm run audit:verify -- --file FILE --tenant ten_... [--expect SEQUENCE:HASH]...

The key, one with the scope admin, is read from the environment as SLUICE_API_KEY or from --key-file.
--expect  an entry that you kept from an earlier run: that nothing up to it was rewritten or cut off since
--export  write the entries that were read to FILE, one JSON object a line; --file reads such a file`;

/** Asked for inside of what ends with 2: a misspelt option must not read as a broken log. */
function optionsGiven() {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      "key-file": { type: "string" },
      file: { type: "string" },
      tenant: { type: "string" },
      export: { type: "string" },
      expect: { type: "string", multiple: true },
      help: { type: "boolean" },
    },
  });
  return values;
}

function headOf(text: string): AuditHead {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined) throw new Error(`--expect ${text}: expected SEQUENCE:HASH`);
  return { sequence: Number(sequence), hash };
}

async function entriesOf(
  values: ReturnType<typeof optionsGiven>,
): Promise<{ tenantId: string; entries: AsyncIterable<AuditEntry> | AuditEntry[] }> {
  if (values.file !== undefined) {
    if (values.tenant === undefined) throw new Error("--file needs --tenant: the chain begins with the tenant's id");
    const lines = readFileSync(values.file, "utf8").split("\n").filter(Boolean);
    return { tenantId: values.tenant, entries: lines.map((line) => JSON.parse(line) as AuditEntry) };
  }
  if (values.url === undefined) throw new Error(USAGE);
  const keyFile = values["key-file"];
  const apiKey = keyFile === undefined ? process.env.SLUICE_API_KEY : readFileSync(keyFile, "utf8").trim();
  if (apiKey === undefined || apiKey === "") throw new Error("no key: set SLUICE_API_KEY, or name a --key-file");
  const sluice = new Sluice({ apiKey, baseUrl: values.url });
  const { id } = await sluice.tenant.get();
  if (values.tenant !== undefined && values.tenant !== id) throw new Error(`the key is one of ${id}`);
  return { tenantId: id, entries: sluice.auditLog.list({ limit: 200 }) };
}

async function main(): Promise<number> {
  const values = optionsGiven();
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const expect = (values.expect ?? []).map(headOf);
  const { tenantId, entries } = await entriesOf(values);
  const read: string[] = [];
  async function* noted() {
    for await (const entry of entries) {
      if (values.export !== undefined) read.push(`${JSON.stringify(entry)}\n`);
      yield entry;
    }
  }
  const verdict = await verifyAuditLog(noted(), { tenantId }, expect);
  if (values.export !== undefined) writeFileSync(values.export, read.join(""));
  if (!verdict.ok) {
    console.log(`broken at entry ${verdict.sequence} (${verdict.reason}): ${verdict.detail}`);
    return 1;
  }
  console.log(`${verdict.entries} entries of ${tenantId}, whole`);
  console.log(`head: ${verdict.head.sequence}:${verdict.head.hash}`);
  if (expect.length === 0) console.log("Keep the head where nobody of the service can write, and pass it as --expect.");
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
