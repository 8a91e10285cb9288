/**
 * Deposits and withdrawals on TRON from the request to the last solid block, on two providers over real HTTP: what the
 * blocks hold, what the ledger says and what the merchant is told, while requests repeat, providers fall silent, blocks
 * that are not solid turn, and contracts refuse.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { tronAddress, tronHex } from "../../src/core/tron-address.ts";
import type { AddressView, EstimateView, ReconciliationView, XpubView } from "../../src/core/views.ts";
import type { Merchant, Watched } from "../support/merchant.ts";
import { untilToldState, untilView } from "../support/payouts.ts";
import { leaked } from "../support/served.ts";
import type { Contract } from "../support/tokens.ts";
import { parseTx, type SignedTx } from "../support/tron-block.ts";
import type { TronChain } from "../support/tron-chain.ts";
import { expectPaidExactly, paidTo } from "../support/tron-payouts.ts";
import {
  freshTronAddress,
  startTronStage,
  TRON,
  TRX,
  type TronStage,
  tokensOf,
  UNSOLID,
} from "../support/tron-stage.ts";

const POLL_MS = 100;
/** As sent to be shown in a block explorer; control characters are a stranger's as well. */
const MEMO = 'order 17\n\u0001 "ünï" 😀';
const hexOf = (text: string) => Buffer.from(text).toString("hex");

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("TRON", () => {
  let stage: TronStage;
  let shop: Merchant;
  let payer: Contract;
  let hexed: Watched;
  let derived: Watched;
  let account: HDKey;

  beforeAll(async () => {
    stage = await startTronStage({ poll_ms: POLL_MS });
    shop = await stage.merchant("A shop");
    payer = await stage.vm.deploy("Payer", []);
  });
  afterAll(() => stage?.stop());

  /** Waits until the scanner has read what is solid now. */
  async function scanned(): Promise<void> {
    const { height } = stage.chain.solid;
    await expect.poll(async () => (await stage.view()).scanned_to, { timeout: 20_000, interval: 50 }).toBe(height);
  }

  /** What is credited by now, each as one text. */
  const credited = async (address: string) =>
    (await shop.deposits({ address }))
      .filter(({ status }) => status === "confirmed" || status === "settled")
      .map(({ asset, transfer_index, amount, memo }) => [asset, transfer_index, amount, memo].join(" | "))
      .sort();

  describe("addresses and tokens", () => {
    it("an address in another spelling is the one that it names", async () => {
      const hex = `41${tronHex(freshTronAddress())}`;
      hexed = await shop.watch({ network: TRON, address: hex, account: "hexed" });
      expect(hexed.address).toBe(tronAddress(hex.slice(2)));
      const body = { network: TRON, address: `0x${hex.slice(2)}`, account: "hexed" };
      const again = await shop.ask<AddressView>("POST", "/v1/addresses", body);
      expect([again.status, again.body.id]).toEqual([200, hexed.id]);
    });

    it("an address below an extended key is the one that the merchant's wallet shows", async () => {
      account = HDKey.fromMasterSeed(keccak_256(utf8ToBytes("a shop's seed"))).derive("m/44'/195'/0'");
      const body = { network: TRON, xpub: account.publicExtendedKey };
      const xpub = await shop.call<XpubView>("POST", "/v1/xpubs", body);
      derived = await shop.watch({ network: TRON, xpubId: xpub.id, account: "derived" });
      const key = secp256k1.getPublicKey(account.derive("m/0/0").privateKey ?? "", false);
      expect(derived.address).toBe(tronAddress(bytesToHex(keccak_256(key.subarray(1)).subarray(-20))));
      expect(xpub.first_address).toBe(derived.address);
    });

    it("a token is listed by its contract, and a TRC-10 token is refused by name", async () => {
      expect(await shop.list(TRON, stage.tokenAddress)).toMatchObject({
        symbol: "USDX",
        contract: stage.tokenAddress,
        decimals: 6,
      });
      for (const [path, field] of [
        ["/v1/assets", "contract"],
        ["/v1/addresses", "address"],
      ] as const) {
        const { status, body } = await shop.ask("POST", path, { network: TRON, [field]: "1002000" });
        expect([status, body]).toMatchObject([422, { code: "invalid_address" }]);
        expect(JSON.stringify(body)).toContain("TRC-10 tokens, which have numbers, are not supported");
      }
    });
  });

  describe("deposits", () => {
    it("of every kind are told when they are solid, with their memos, by whichever provider answers", async () => {
      const { chain, first } = stage;
      chain.pay(hexed.address, 5n * TRX, { data: hexOf(MEMO) });
      stage.payTokens(derived.address, 2_500_000n, MEMO);
      const to = [`0x${tronHex(derived.address)}`, `0x${tronHex(hexed.address)}`];
      const pay = payer.encode("pay", [to, 40]).slice(2);
      chain.trigger(chain.faucet, payer.address.slice(2), pay, { data: "ff00" }, 80n);
      chain.put(trc10(chain, hexed.address));
      await stage.mine();
      await stage.mine(UNSOLID - 1);
      await scanned();
      await pause(2 * POLL_MS);
      expect([await shop.deposits(), await shop.balances()]).toEqual([[], []]);

      first.node.down = true;
      await stage.mine();
      await scanned();
      first.node.down = false;
      await expect
        .poll(() => credited(hexed.address), { timeout: 10_000 })
        .toEqual(["TRX | call:1 | 0.00004 | 0xff00", `TRX | value | 5 | ${MEMO}`]);
      expect(await credited(derived.address)).toEqual([
        "TRX | call:0 | 0.00004 | 0xff00",
        `USDX | log:0 | 2.5 | ${MEMO}`,
      ]);
      const balances = (await shop.balances()).map(
        ({ account, asset, available }) => `${account} ${asset} ${available}`,
      );
      expect(balances.sort()).toEqual(["derived TRX 0.00004", "derived USDX 2.5", "hexed TRX 5.00004"]);
      // The TRC-10 token is counted, and credits nobody.
      expect((await stage.view()).counters).toMatchObject({ irregular_logs: 1, transfers_not_weighed: 1 });
    });

    it("come as webhooks with good signatures, memos included", async () => {
      const paid = await shop.deposits();
      expect(paid).toHaveLength(4);
      for (const deposit of paid) {
        const event = await shop.consumer.waitFor(
          ({ subject, type }) => subject === deposit.id && type === "deposit.confirmed",
          20_000,
        );
        expect(event.data).toMatchObject({ memo: deposit.memo, amount: deposit.amount, tx_id: deposit.tx_id });
      }
      expect(shop.consumer.alarms).toEqual([]);
    });

    it("in blocks that are not solid are nothing: a fork takes them away unseen, and what it keeps counts once", async () => {
      const { chain } = stage;
      const [lost, kept] = [freshTronAddress(), freshTronAddress()];
      for (const address of [lost, kept]) await shop.watch({ network: TRON, address, account: "forked" });
      chain.pay(lost, 7n * TRX);
      const stays = chain.pay(kept, 3n * TRX);
      await stage.mine(10);
      await scanned();
      chain.reorg(10, [stays]);
      await stage.mine(UNSOLID + 5);
      await scanned();
      await expect.poll(() => credited(kept), { timeout: 10_000 }).toEqual(["TRX | value | 3 | "]);
      expect(await credited(lost)).toEqual([]);
      const [balance] = (await shop.balances()).filter(({ account }) => account === "forked");
      expect(balance).toMatchObject({ available: "3", debt: "0" });
      expect(shop.consumer.events.some(({ type }) => type === "deposit.reverted")).toBe(false);
      expect((await stage.view()).incident).toBeNull();
    });
  });

  describe("withdrawals", () => {
    let rich: Merchant;

    beforeAll(async () => {
      rich = await stage.merchant("A shop that pays out");
      await rich.list(TRON, stage.tokenAddress);
      await stage.fund([{ shop: rich, trx: 1_000, tokens: 500 }]);
    });

    const ask = (asset: string, amount: string, destination = freshTronAddress(), key?: string) =>
      rich.withdraw({ network: TRON, asset, amount, destination, ...(key !== undefined && { key }) });

    const accepted = (id: string) => untilView(rich, id, ({ state }) => state === "confirmation_tracking");

    const estimate = (asset: string, amount: string, destination: string) =>
      rich.call<EstimateView>("POST", "/v1/withdrawals/estimate", { network: TRON, asset, amount, destination });

    const held = async (asset: string) => {
      const found = (await rich.balances()).find((balance) => balance.account === "default" && balance.asset === asset);
      return [found?.available, found?.reserved, found?.settled];
    };

    it("of TRX to a new address are estimated with what an account costs, and paid once for two clicks", async () => {
      const destination = freshTronAddress();
      // 0.1 TRX in place of bandwidth, and 1 TRX for the account.
      expect(await estimate("TRX", "2.5", destination)).toMatchObject({
        fee: "1.1",
        max_fee: "1.1",
        fee_parts: [{ kind: "account", quantity: null, fee: "1.1" }],
        fee_asset: "TRX",
        accepted: true,
        warning: null,
      });
      const [one, other] = await Promise.all([
        ask("TRX", "2.5", destination, "clicked"),
        ask("TRX", "2.5", destination, "clicked"),
      ]);
      expect(other.id).toBe(one.id);
      await accepted(one.id);
      await stage.mine(UNSOLID);
      await scanned();
      await pause(4 * POLL_MS);
      expect([(await rich.withdrawal(one.id)).state, await held("TRX")]).toEqual([
        "confirmation_tracking",
        ["997.5", "2.5", "0"],
      ]);
      await stage.mine();
      const done = await untilToldState(rich, one.id, "confirmed");
      expect(done).toMatchObject({ fee: "1.1", attempts: [{ tx_id: done.tx_id }] });
      expect(paidTo(stage.chain, destination)).toEqual([{ txId: done.tx_id, units: 2_500_000n }]);
      expect(await held("TRX")).toEqual(["997.5", "0", "2.5"]);
    });

    it("of a token to a new address are estimated with energy and bandwidth, and settled", async () => {
      const destination = freshTronAddress();
      const before = await estimate("USDX", "40", destination);
      expect(before).toMatchObject({
        fee_parts: [
          { kind: "bandwidth", quantity: expect.any(Number), fee: "0" },
          { kind: "energy", quantity: expect.any(Number), fee: before.fee },
        ],
      });
      const asked = await ask("USDX", "40", destination);
      await accepted(asked.id);
      await stage.settle();
      const done = await untilToldState(rich, asked.id, "confirmed");
      const { fee } = stage.chain.find(done.tx_id ?? "")?.tx ?? {};
      // The first transaction that is not to a new account has the day's free bandwidth.
      expect([fee?.netFee, (fee?.energyFee ?? 0n) > 3n * TRX]).toEqual([0n, true]);
      expect(Number(before.fee)).toBeGreaterThanOrEqual(Number(done.fee));
      expect(Number(before.fee)).toBeLessThan(Number(done.fee) * 1.2);
      // Twice the energy, and bandwidth paid for.
      expect(Number(before.max_fee)).toBeGreaterThan(Number(before.fee) * 2);
      expect([await held("USDX"), await tokensOf(stage, destination)]).toEqual([["460", "0", "40"], 40_000_000n]);
      const second = await estimate("USDX", "40", destination);
      // No free bandwidth is left: some 0.4 TRX for the bytes, while the receiver's place in the contract is there already.
      expect(second.warning).toBeNull();
      expect(Number(second.max_fee)).toBeGreaterThan(Number(second.fee));
    });

    it("that a contract reverts have failed when that is solid: the amount is released, the fee is booked", async () => {
      const { chain, token, vm } = stage;
      const asked = await ask("USDX", "10");
      const { tx_id } = await accepted(asked.id);
      // The wallet's tokens leave by another way before the block.
      const wallet = tronHex((await rich.wallet(TRON)).address);
      const all = await tokensOf(stage, tronAddress(wallet));
      const away = { to: token.address.slice(2), from: wallet, value: 0n };
      await vm.execute({ ...away, data: token.encode("transfer", [`0x${chain.faucet.hex}`, all]).slice(2) });
      await stage.settle();
      const done = await untilToldState(rich, asked.id, "failed");
      expect(chain.find(tx_id ?? "")?.tx.outcome).toBe("REVERT");
      expect(done.transitions.at(-1)?.reason).toBe("reverted_on_chain");
      expect(await held("USDX")).toEqual(["460", "0", "40"]);
      await token.send("mint", [`0x${wallet}`, all]);
    });

    it("that run out of energy have failed: the whole limit is burned, and nothing is paid", async () => {
      const { chain } = stage;
      const asked = await ask("USDX", "10");
      const { tx_id } = await accepted(asked.id);
      const price = chain.parameters.getEnergyFee ?? 0;
      chain.parameters.getEnergyFee = 10 * price;
      await stage.settle();
      chain.parameters.getEnergyFee = price;
      const done = await untilToldState(rich, asked.id, "failed");
      const burned = chain.find(tx_id ?? "")?.tx;
      expect([burned?.outcome, done.transitions.at(-1)?.reason]).toEqual(["OUT_OF_ENERGY", "reverted_on_chain"]);
      expect(BigInt(done.fee_units ?? 0)).toBeGreaterThanOrEqual(burned?.data.feeLimitUnits ?? 0n);
      expect(await held("USDX")).toEqual(["460", "0", "40"]);
      expect(await tokensOf(stage, asked.destination)).toBe(0n);
    });

    it("go on with one provider of two as far as one may, and are confirmed when both show it", async () => {
      const asked = await ask("TRX", "1");
      await accepted(asked.id);
      stage.second.node.lag = UNSOLID + 5;
      await stage.settle();
      await pause(6 * POLL_MS);
      expect((await rich.withdrawal(asked.id)).state).toBe("confirmation_tracking");
      stage.second.node.lag = 0;
      await untilToldState(rich, asked.id, "confirmed");
    });

    it("in the end chain, ledger, feed, webhooks and reconciliation agree, and no secret was printed", async () => {
      await expectPaidExactly(stage, [rich]);
      for (const merchant of [shop, rich]) {
        const report = await merchant.call<ReconciliationView>("POST", "/v1/reconciliation");
        expect(report).toMatchObject({ status: "matched", differences: [], unreachable: [] });
        expect(merchant.consumer.alarms).toEqual([]);
      }
      const wallet = await rich.wallet(TRON);
      const left = stage.chain.account(tronHex(wallet.address)).balance;
      expect(wallet).toMatchObject({ status: "active", incident: null, in_flight: 0 });
      expect(wallet.balances?.find(({ asset }) => asset === "TRX")?.amount_units).toBe(left.toString());
      expect(leaked(stage, [account.privateExtendedKey])).toEqual([]);
    });
  });
});

/** A transfer of a TRC-10 token, which this program never makes. */
function trc10(chain: TronChain, to: string): SignedTx {
  const value = new ProtobufWriter()
    .bytes(1, hexOf("1000001"))
    .bytes(2, `41${chain.faucet.hex}`)
    .bytes(3, `41${tronHex(to)}`)
    .number(4, 5);
  const parameter = new ProtobufWriter()
    .bytes(1, hexOf("type.googleapis.com/protocol.TransferAssetContract"))
    .bytes(2, value.hex());
  const contract = new ProtobufWriter().number(1, 2).always(2, parameter.hex());
  const { refBlockBytes, refBlockHash, expiration, timestamp } = chain.rawData({ kind: "other" });
  const raw = new ProtobufWriter()
    .bytes(1, refBlockBytes)
    .bytes(4, refBlockHash)
    .number(8, expiration)
    .always(11, contract.hex())
    .number(14, timestamp)
    .hex();
  return parseTx(new ProtobufWriter().always(1, raw).always(2, chain.faucet.sign(raw)).hex());
}
