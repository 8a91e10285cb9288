/**
 * The sandbox's calls, as the Worker hands them on: who called is known by then. Every argument has bounds, and what
 * does not fit is refused in the form of the API's own refusals, before anything is done.
 */

import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { parseAmount } from "../../src/core/amount.ts";
import { parseEvmAddress } from "../../src/core/evm-address.ts";
import { isId } from "../../src/core/ids.ts";
import { type FieldError, REFUSALS, type Refusal } from "../../src/core/refusal.ts";
import { fieldErrors } from "../../src/http/fields.ts";
import { type Chain, DEEPEST, MOST_BLOCKS, MOST_ETHER } from "./chain.ts";
import { type DemoShop, TOKEN } from "./demo-shop.ts";
import { RECEIVER_MODES, type Receiver } from "./receiver.ts";
import { NodeError } from "./rpc.ts";
import { RPC_MODES, type RpcProxy } from "./rpc-proxy.ts";

export interface World {
  readonly chain: Chain;
  readonly proxy: RpcProxy;
  readonly receiver: Receiver;
  readonly receiverUrl: string;
  readonly demo: DemoShop;
  /** What the link of this start is to show. */
  readonly code: string;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** null: nobody has signed in. */
  readonly tenantId: string | null;
  readonly body: unknown;
}

export interface Answered {
  readonly status: number;
  /** undefined: none. */
  readonly body?: unknown;
}

const MOST_TOKEN = 10n ** 18n;
const ETHER_DECIMALS = 18;

const OLD_BLOCKS: Refusal = {
  code: "state_conflict",
  detail:
    "The chain has more than 100 blocks, and some of these were mined before it was started: mine new ones first.",
};

const Pay = z.strictObject({ address: z.string(), asset: z.string().default("ETH"), amount: z.string() });
const Mine = z.strictObject({ blocks: z.int().min(1).max(MOST_BLOCKS) });
const Reorg = z.strictObject({ depth: z.int().min(1).max(DEEPEST), remine: z.boolean() });
const Rpc = z.strictObject({ mode: z.enum(RPC_MODES) });
const Receiving = z.strictObject({ mode: z.enum(RECEIVER_MODES) });
const Fees = z.strictObject({ stuck: z.boolean() });
const Key = z.strictObject({
  endpoint_id: z.string().refine((id) => isId("we", id), "expected an endpoint's id"),
  secret: z
    .string()
    .regex(/^wh(sec|pk)_[A-Za-z0-9+/]{32,100}={0,2}$/, "expected a secret whsec_... or a public key whpk_..."),
});
const After = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export async function answer(world: World, asked: Asked): Promise<Answered> {
  try {
    const { method, path, tenantId } = asked;
    if (method === "GET" && path === "/enter") return enter(world, asked.query.get("code") ?? "");
    if (tenantId === null) return refused({ code: "unauthorized", detail: "Nobody has signed in." });
    return (await call(world, `${method} ${path}`, tenantId, asked)) ?? refused({ code: "not_found", detail: "" });
  } catch (error) {
    if (error instanceof NodeError) return refused({ code: "chain_unavailable", detail: error.message });
    throw error;
  }
}

async function call(world: World, name: string, tenantId: string, { body, query }: Asked): Promise<Answered | null> {
  const { chain, proxy, receiver } = world;
  switch (name) {
    case "GET /":
      return state(world, tenantId);
    case "POST /pay":
      return fitting(Pay, body, (payment) => pay(world, payment));
    case "POST /mine":
      return fitting(Mine, body, async ({ blocks }) => ok({ height: await chain.mine(blocks) }));
    case "POST /reorg":
      return fitting(Reorg, body, async ({ depth, remine }) => {
        const height = await chain.height();
        if (depth >= height) return misfit("depth", `the chain has ${height} blocks: expected less`);
        if (!(await chain.hasStateAt(height - depth))) return refused(OLD_BLOCKS);
        return ok({ height: await chain.reorganise(depth, remine), replaced: depth });
      });
    case "POST /rpc":
      return fitting(Rpc, body, ({ mode }) => {
        proxy.setMode(mode);
        return state(world, tenantId);
      });
    case "POST /receiver":
      return fitting(Receiving, body, ({ mode }) => {
        receiver.setMode(tenantId, mode);
        return state(world, tenantId);
      });
    case "POST /fees":
      return fitting(Fees, body, async ({ stuck }) => {
        await proxy.stick(stuck);
        return state(world, tenantId);
      });
    case "POST /receiver/keys":
      return fitting(Key, body, async ({ endpoint_id, secret }) => {
        const added = receiver.addSecret(tenantId, endpoint_id, secret);
        return added
          ? { status: 204 }
          : refused({ code: "state_conflict", detail: "The receiver knows too many endpoints of yours." });
      });
    case "GET /deliveries": {
      const after = After.safeParse(query.get("after") ?? "0");
      if (!after.success) return misfit("after", "expected the number of a delivery, or 0");
      return ok(receiver.deliveries.after(tenantId, after.data));
    }
    default:
      return null;
  }
}

async function state({ chain, proxy, receiver, receiverUrl, demo }: World, tenantId: string): Promise<Answered> {
  return ok({
    chain: { network: "local", height: await chain.height() },
    rpc: { mode: proxy.mode },
    receiver: { mode: receiver.modeOf(tenantId), url: receiverUrl + receiver.pathOf(tenantId) },
    fees: { stuck: proxy.fees.stuck },
    demo: demo.tenantId === tenantId,
  });
}

async function pay({ chain, demo }: World, payment: z.output<typeof Pay>): Promise<Answered> {
  const to = parseEvmAddress(payment.address);
  if (!to.ok)
    return refused({
      code: "invalid_address",
      detail: "Expected an address of the local network: 0x and 40 hex digits.",
    });
  const isEther = payment.asset === "ETH";
  const isToken = demo.token !== null && [TOKEN.symbol, demo.token].includes(payment.asset);
  if (!isEther && !isToken)
    return refused({ code: "unknown_asset", detail: `The sandbox pays ETH and ${TOKEN.symbol}.` });
  const amount = parseAmount(payment.amount, isEther ? ETHER_DECIMALS : TOKEN.decimals);
  const most = isEther ? MOST_ETHER : MOST_TOKEN;
  if (!amount.ok || amount.units === 0n || amount.units > most)
    return misfit(
      "amount",
      `expected a decimal number above 0, at most ${isEther ? "10000 ETH" : `1000000000000 ${TOKEN.symbol}`}`,
    );
  const txId = isEther
    ? await chain.payEther(to.address, amount.units)
    : await chain.payToken(demo.token ?? "", to.address, amount.units);
  return ok({ tx_id: txId });
}

/** Whoever has this start's link gets the demo shop's key. They are let in also where nothing can be paid now. */
function enter({ demo, code }: World, shown: string): Answered {
  const [one, other] = [Buffer.from(shown), Buffer.from(code)];
  if (one.length !== other.length || !timingSafeEqual(one, other)) return refused({ code: "not_found", detail: "" });
  if (demo.key === null)
    return refused({
      code: "store_unavailable",
      detail: "The demo shop is being made. Try again in a moment.",
      retryAfterS: 2,
    });
  demo
    .welcome(Date.now())
    .catch((error: Error) => console.error(`sandbox: no deposit for the demo shop: ${error.message}`));
  return ok({ key: demo.key });
}

async function fitting<S extends z.ZodType>(
  schema: S,
  body: unknown,
  done: (fits: z.output<S>) => Answered | Promise<Answered>,
): Promise<Answered> {
  const read = schema.safeParse(body);
  return read.success ? done(read.data) : unfit(fieldErrors(read.error as z.ZodError));
}

function misfit(path: string, message: string): Answered {
  return unfit([{ path, message }]);
}

function unfit(errors: readonly FieldError[]): Answered {
  return refused({ code: "invalid_fields", detail: "The call has fields that do not fit.", errors });
}

function refused(refusal: Refusal): Answered {
  return { status: REFUSALS[refusal.code], body: refusal };
}

function ok(body: unknown): Answered {
  return { status: 200, body };
}
