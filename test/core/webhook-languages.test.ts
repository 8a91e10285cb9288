/**
 * What docs/webhooks.md shows in other languages takes what the service signs and nothing else. Each runs where its
 * interpreter is; what is not there is named.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, describe, expect, it } from "vitest";
import { mintSecret, signatureHeader } from "../../src/webhooks/signature.ts";
import { snippets } from "../support/snippets.ts";

const SECRET = mintSecret(new Uint8Array(32).map((_, i) => i * 7));
const OTHER = mintSecret(new Uint8Array(32).fill(9));
const BODY = '{"id":"evt_1","data":{"account":"Zoë & 東京","amount":"1.5"}}';
const RUN_WITHIN_MS = 120_000;

interface Case {
  readonly name: string;
  readonly isOurs: boolean;
  readonly fields: readonly string[];
}

async function caseOf(
  name: string,
  isOurs: boolean,
  { secrets = [SECRET], ageS = 0, body = BODY, id = "evt_1", more = "", timestamp = "", scheme = "v1" } = {},
): Promise<Case> {
  const timestampS = Math.floor(Date.now() / 1_000) - ageS;
  const message = { id: "evt_1", timestampS, body: new TextEncoder().encode(BODY) };
  const made = await signatureHeader(
    secrets.map((secret) => ({ scheme: "v1" as const, secret })),
    message,
  );
  return {
    name,
    isOurs,
    fields: [id, timestamp || String(timestampS), `${more}${made.replaceAll("v1,", `${scheme},`)}`, body, SECRET],
  };
}

const cases = await Promise.all([
  caseOf("as it was sent", true),
  caseOf("signed with the next secret as well", true, { secrets: [OTHER, SECRET] }),
  caseOf("with a signature of another kind before it", true, { more: "v1a,bm90IG91cnM= " }),
  caseOf("four minutes old", true, { ageS: 240 }),
  caseOf("six minutes old", false, { ageS: 360 }),
  caseOf("six minutes ahead", false, { ageS: -360 }),
  caseOf("another body", false, { body: BODY.replace("1.5", "2.5") }),
  caseOf("another id", false, { id: "evt_2" }),
  caseOf("another secret", false, { secrets: [OTHER] }),
  caseOf("under the name of another scheme", false, { scheme: "v2" }),
  caseOf("another time", false, { timestamp: String(Math.floor(Date.now() / 1_000) - 5) }),
]);

/** One line a case, each field in base64: every language here reads that with what it brings along. */
const INPUT = cases
  .map(({ fields }) => fields.map((field) => Buffer.from(field).toString("base64")).join(" "))
  .join("\n");

const only = (language: string) => snippets("webhooks.md", language).join("\n");

interface Language {
  readonly command: string;
  /** File by file, the program that reads the cases' file and prints yes or no for each. */
  readonly program: () => Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  Python: {
    command: "python3",
    args: ["main.py", "cases"],
    program: () => ({
      "main.py": `${only("python")}
import sys
for line in open(sys.argv[1]):
    id, sent, signature, body, secret = [base64.b64decode(field) for field in line.split()]
    headers = {"webhook-id": id.decode(), "webhook-timestamp": sent.decode(), "webhook-signature": signature.decode()}
    try:
        verify(body, headers, secret.decode())
        print("yes")
    except ValueError:
        print("no")
`,
    }),
  },
  Go: {
    command: "go",
    args: ["run", "verify.go", "main.go", "cases"],
    program: () => ({
      "verify.go": only("go").replace("package webhooks", "package main"),
      "main.go": `package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	text, _ := os.ReadFile(os.Args[1])
	for _, line := range strings.Split(string(text), "\\n") {
		var fields [][]byte
		for _, field := range strings.Fields(line) {
			bytes, _ := base64.StdEncoding.DecodeString(field)
			fields = append(fields, bytes)
		}
		header := http.Header{}
		header.Set("webhook-id", string(fields[0]))
		header.Set("webhook-timestamp", string(fields[1]))
		header.Set("webhook-signature", string(fields[2]))
		if Verify(fields[3], header, string(fields[4])) == nil {
			fmt.Println("yes")
		} else {
			fmt.Println("no")
		}
	}
}
`,
    }),
  },
  Ruby: {
    command: "ruby",
    args: ["main.rb", "cases"],
    program: () => ({
      "main.rb": `${only("ruby")}
File.foreach(ARGV[0]) do |line|
  id, sent, signature, body, secret = line.split.map { |field| field.unpack1("m0").force_encoding("UTF-8") }
  headers = { "webhook-id" => id, "webhook-timestamp" => sent, "webhook-signature" => signature }
  begin
    verify_webhook(body, headers, secret)
    puts "yes"
  rescue ArgumentError
    puts "no"
  end
end
`,
    }),
  },
  PHP: {
    command: "php",
    args: ["main.php", "cases"],
    program: () => ({
      "main.php": `${only("php")}
foreach (file($argv[1]) as $line) {
    [$id, $sent, $signature, $body, $secret] = array_map('base64_decode', explode(' ', trim($line)));
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $sent, 'webhook-signature' => $signature];
    try {
        verifyWebhook($body, $headers, $secret);
        echo "yes\\n";
    } catch (InvalidArgumentException) {
        echo "no\\n";
    }
}
`,
    }),
  },
  Java: {
    command: "java",
    args: ["-XX:TieredStopAtLevel=1", "Main.java", "cases"],
    program: () => {
      const code = only("java");
      const at = code.indexOf("final class");
      const main = `class Main {
  public static void main(String[] args) throws Exception {
    for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of(args[0]))) {
      byte[][] f = java.util.Arrays.stream(line.split(" ")).map(Base64.getDecoder()::decode).toArray(byte[][]::new);
      var headers = java.util.Map.of("webhook-id", new String(f[0]), "webhook-timestamp", new String(f[1]), "webhook-signature", new String(f[2]));
      try {
        Webhooks.verify(f[3], headers::get, new String(f[4]));
        System.out.println("yes");
      } catch (GeneralSecurityException refused) {
        System.out.println("no");
      }
    }
  }
}
`;
      return { "Main.java": `${code.slice(0, at)}${main}${code.slice(at)}` };
    },
  },
};

const isHere = ([, { command }]: [string, Language]) => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;
const here = Object.entries(LANGUAGES).filter(isHere);
const missing = Object.keys(LANGUAGES).filter((name) => !here.some(([one]) => one === name));
if (missing.length > 0) console.warn(`docs/webhooks.md: not run, for want of an interpreter: ${missing.join(", ")}`);

const folder = mkdtempSync(join(tmpdir(), "sluice-languages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RIGHT = cases.map(({ name, isOurs }) => `${name}: ${isOurs ? "yes" : "no"}`);

describe("verifying a webhook", () => {
  it.each(here)("in %s", (name, { command, args, program }) => {
    const home = mkdtempSync(join(folder, `${name}-`));
    writeFileSync(join(home, "cases"), INPUT);
    for (const [file, text] of Object.entries(program())) writeFileSync(join(home, file), text);
    const env = { ...process.env, GO111MODULE: "off" };
    const options = { cwd: home, env, encoding: "utf8", timeout: RUN_WITHIN_MS } as const;
    const said = execFileSync(command, args, options).trim().split("\n");
    expect(cases.map((one, i) => `${one.name}: ${said[i]}`)).toEqual(RIGHT);
  });

  it("with the package standardwebhooks", () => {
    const said = cases.map(({ name, fields: [id, timestamp, signature, body, secret] }) => {
      const headers = {
        "webhook-id": `${id}`,
        "webhook-timestamp": `${timestamp}`,
        "webhook-signature": `${signature}`,
      };
      try {
        new Webhook(`${secret}`).verify(`${body}`, headers);
        return `${name}: yes`;
      } catch {
        return `${name}: no`;
      }
    });
    expect(said).toEqual(RIGHT);
  });
});
