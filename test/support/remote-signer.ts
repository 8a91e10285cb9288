/**
 * A signer as Web3Signer is one, with a key of its own: JSON-RPC `eth_signTransaction` behind a bearer token. It
 * signs what it is asked for, unless its mood says otherwise.
 */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TransactionSerializableEIP1559 } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Hex } from "./anvil.ts";

export type Asked = TransactionSerializableEIP1559;

export type SignerMood =
  | { readonly kind: "honest" }
  /** Signs something else. */
  | { readonly kind: "amends"; readonly amend: (asked: Asked) => Asked }
  /** Signs with a key that is not the wallet's. */
  | { readonly kind: "other_key" }
  | { readonly kind: "status"; readonly status: number }
  /** Cuts the connection without an answer. */
  | { readonly kind: "cut" };

export interface RemoteSigner {
  readonly url: string;
  /** Lower case. */
  readonly address: string;
  readonly token: string;
  /** What must never be printed. */
  readonly secrets: readonly string[];
  /** Every request that was understood, in order. */
  readonly asked: readonly Asked[];
  /** Every answer that was signed, in order, whether it left or not. */
  readonly signed: readonly Hex[];
  setMood(mood: SignerMood): void;
  /** Resolves once the next answer is signed; it never leaves. */
  holdAnswer(): Promise<Hex>;
  close(): Promise<void>;
}

export async function startRemoteSigner(): Promise<RemoteSigner> {
  const key = generatePrivateKey();
  const account = privateKeyToAccount(key);
  const stranger = privateKeyToAccount(generatePrivateKey());
  const token = `signer-${randomBytes(16).toString("hex")}`;
  const path = `key-${randomBytes(16).toString("hex")}`;
  const asked: Asked[] = [];
  const signed: Hex[] = [];
  let mood: SignerMood = { kind: "honest" };
  let keeper: ((raw: Hex) => void) | null = null;

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params } = JSON.parse(await textOf(message)) as SignRequest;
    if (message.headers.authorization !== `Bearer ${token}` || message.url !== `/${path}`) {
      response.writeHead(401).end();
      return;
    }
    const now = mood;
    if (now.kind === "status" || now.kind === "cut") {
      if (now.kind === "cut") response.destroy();
      else response.writeHead(now.status).end();
      return;
    }
    const answer = (fields: object) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...fields }));
    const wanted = params[0];
    if (method !== "eth_signTransaction" || wanted?.from !== account.address.toLowerCase() || wanted.type !== "0x2") {
      answer({ error: { code: -32602, message: "nothing that this signer signs" } });
      return;
    }
    const unsigned = unsignedOf(wanted);
    asked.push(unsigned);
    const signer = now.kind === "other_key" ? stranger : account;
    const raw = await signer.signTransaction(now.kind === "amends" ? now.amend(unsigned) : unsigned);
    signed.push(raw);
    const keep = keeper;
    keeper = null;
    if (keep === null) answer({ result: raw });
    else keep(raw);
  }

  const server = createServer((message, response) => {
    serve(message, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/${path}`,
    address: account.address.toLowerCase(),
    token,
    secrets: [token, path, key, key.slice(2)],
    asked,
    signed,
    setMood: (next) => {
      mood = next;
    },
    holdAnswer: () =>
      new Promise((resolve) => {
        keeper = resolve;
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Fields = Readonly<
  Record<
    "from" | "to" | "gas" | "value" | "data" | "nonce" | "chainId" | "type" | "maxFeePerGas" | "maxPriorityFeePerGas",
    Hex
  >
>;

interface SignRequest {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly Fields[];
}

function unsignedOf(fields: Fields): Asked {
  return {
    type: "eip1559",
    chainId: Number(fields.chainId),
    nonce: Number(fields.nonce),
    to: fields.to,
    value: BigInt(fields.value),
    data: fields.data,
    gas: BigInt(fields.gas),
    maxFeePerGas: BigInt(fields.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(fields.maxPriorityFeePerGas),
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
