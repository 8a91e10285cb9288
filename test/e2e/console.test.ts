/**
 * The console in a real browser, before the whole service and its sandbox: what a merchant does with it at a desk and
 * on a phone, and what it keeps from everybody else.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chainAt } from "../support/anvil.ts";
import { noChromium, type Page, type Size, startBrowser, type Tab, type TestBrowser } from "../support/browser.ts";
import { lookAtEveryScreen } from "../support/console-screens.ts";
import {
  go,
  heading,
  loseAnswer,
  mineOnceSent,
  openConsole,
  openSandbox,
  remains,
  rotateSecret,
  side,
  signIn,
  signInForm,
  withoutOwnBlocks,
} from "../support/console-tab.ts";
import { DEMO_ACCOUNT, type DemoShop, openDemoShop } from "../support/demo-shop.ts";
import { freshAddress } from "../support/merchant.ts";
import { type Service, startService } from "../support/service.ts";

const ETHER = 10n ** 18n;
const PATIENCE = { timeout: 20_000 };
/** What the browser notes of its own accord where a session has ended or none begins. */
const REFUSED = /^console: .* status of 401 .*\/(v1\/|sandbox)/;

let service: Service;
let browser: TestBrowser;
let demo: DemoShop;

const state = (page: Page, name: string) => page.getByText(name, { exact: true }).first().waitFor();
const confirmations = (page: Page, name: string) => page.getByRole("progressbar", { name }).waitFor();
const chain = () => chainAt(service.chainUrl ?? "");
const opened = (options: { size?: Size; scheme?: "light" | "dark"; path?: string } = {}): Promise<Tab> =>
  openConsole(browser, `${service.url}/#${options.path ?? "/"}`, options);

async function signedIn(key: string, options: Parameters<typeof opened>[0] = {}): Promise<Tab> {
  const tab = await opened(options);
  await signIn(tab, key);
  return tab;
}

describe.skipIf(noChromium)("the console", () => {
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({ environment: { SANDBOX: "on" } }), startBrowser()]);
    demo = await openDemoShop(service);
  });
  afterEach(({ task }) => browser?.closeTabs(task.result?.state === "fail" ? task.name : undefined));
  afterAll(async () => {
    await Promise.all([service?.stop(), browser?.stop()]);
  });

  describe.each(["desk", "phone"] as const)("at a %s", (size) => {
    let key: string;
    beforeAll(async () => {
      ({ key } = await service.signUp(`A shop at a ${size}`));
    });

    it("signs up and out, and keeps no key", async () => {
      const tab = await opened({ size });
      const { page } = tab;
      const urls: string[] = [];
      page.on("request", (request) => urls.push(request.url()));
      await page.getByLabel("Name of your business").fill("Nightshade Books");
      await page.getByRole("button", { name: "Sign up" }).click();
      const secret = (await page.getByRole("status", { name: "API key" }).textContent()) ?? "";
      expect(secret).toMatch(/^sk_\w{20}/);
      await page.getByRole("button", { name: /open the console/ }).click();
      await heading(page, "Overview").waitFor();

      const beside = await side(page, size);
      await beside.getByText("Nightshade Books").waitFor();
      await beside.getByRole("button", { name: "Theme: system" }).click();
      const found = await remains(page);
      expect(JSON.parse(found)).toMatchObject({ session: {}, databases: [], caches: [], workers: 0, cookie: "" });
      // The theme, and that there is a session to ask for.
      expect(JSON.parse(found).local).toEqual({ "sluice-theme": "light", "sluice-signed-in": "yes" });
      expect(`${found} ${urls.join(" ")}`).not.toContain(secret.slice(0, 12));

      tab.allow(REFUSED);
      await beside.getByRole("button", { name: "Sign out" }).click();
      await signInForm(tab).waitFor();
      expect(await tab.context.cookies()).toEqual([]);
      const after = await remains(page);
      expect(JSON.parse(after).local).toEqual({ "sluice-theme": "light" });
      expect(after).not.toContain("Nightshade");
    });

    it("sees a deposit confirm, revert and confirm again", async () => {
      const tab = await signedIn(key, { size });
      const { page } = tab;
      await go(page, size, "Addresses");
      await page.getByRole("button", { name: "Register by hand" }).click();
      const form = page.getByRole("form", { name: "Register an address" });
      await form.getByLabel("Address").fill(freshAddress());
      await form.getByLabel("Account").fill("anna");
      await form.getByRole("button", { name: "Register" }).click();
      const shown = page.getByRole("dialog", { name: "Address" });
      await shown.getByRole("img", { name: /QR code/ }).waitFor();
      await tab.picture("address");
      await shown.getByRole("button", { name: "Close" }).click();

      const sandbox = await openSandbox(tab, service.url);
      await withoutOwnBlocks(chain(), async () => {
        await Promise.all([sandbox.pay("1.5"), mineOnceSent(chain())]);
        await go(page, size, "Deposits");
        await page.getByRole("link", { name: "1.5 ETH" }).click();
        await confirmations(page, "1 of 3");
        await sandbox.mine(1);
        await confirmations(page, "2 of 3");
        await sandbox.mine(1);
        await confirmations(page, "3 of 3");
        await state(page, "confirmed");
        await sandbox.reorganise(3);
        await confirmations(page, "1 of 3");
        await sandbox.mine(2);
        await state(page, "confirmed 2 times");
      });
      const steps = page.getByRole("list", { name: "Events of this deposit" }).getByRole("listitem").locator("strong");
      await expect
        .poll(async () => (await steps.allTextContents()).map((step) => /^\w+/.exec(step)?.[0]), PATIENCE)
        .toEqual(["Seen", "Confirmed", "Reverted", "Seen", "Confirmed"]);
      await tab.picture("deposit");
    });

    it("pays out once, however it is asked", async () => {
      const tab = await openConsole(browser, demo.link, { size });
      const { page } = tab;
      const destination = freshAddress();
      const [wallet] = await demo.list<{ network: string; address: string }>("/v1/wallets");
      const payments = async () => Number(await chain().rpc("eth_getTransactionCount", [wallet?.address, "latest"]));
      const before = await payments();

      await go(page, size, "Withdrawals");
      await page.getByRole("button", { name: "New withdrawal" }).click();
      const form = page.getByRole("form", { name: "New withdrawal" });
      await form.getByLabel("Destination").fill(destination);
      await form.getByLabel("Amount").fill("0.125");
      await form.getByLabel("Account").fill(DEMO_ACCOUNT);
      await form.getByRole("button", { name: "Estimate" }).click();
      await form.getByText("would be accepted").waitFor();
      await tab.picture("new-withdrawal");
      // The service makes it, and its answer is lost on the way: it is asked again.
      tab.allow(/ERR_FAILED .*\/v1\/withdrawals/);
      await page.route("**/v1/withdrawals", loseAnswer, { times: 1 });
      await form.getByRole("button", { name: "Withdraw" }).dblclick();
      await heading(page, "Withdrawal").waitFor();

      const sandbox = await openSandbox(tab, service.url);
      await expect.poll(payments, PATIENCE).toBe(before + 1);
      await sandbox.mine(3);
      await state(page, "confirmed");
      await tab.picture("withdrawal");
      expect(BigInt(await chain().rpc<string>("eth_getBalance", [destination, "latest"]))).toBe(ETHER / 8n);
      expect(await payments()).toBe(before + 1);
      const made = await demo.list<{ destination: string }>("/v1/withdrawals");
      expect(made.filter((one) => one.destination.toLowerCase() === destination)).toHaveLength(1);
    });

    it("rotates an endpoint's secret: the receiver verifies with the old one, then with the new one", async () => {
      const tab = await signedIn(key, { size });
      const { page } = tab;
      await go(page, size, "Webhooks");
      await page.getByRole("button", { name: "Use the built-in receiver" }).click();
      await heading(page, "Webhook endpoint").waitFor();
      const sandbox = await openSandbox(tab, service.url);
      const received = sandbox.page.getByRole("table", { name: "Received deliveries" }).getByRole("row");
      const verified = received.filter({ hasText: "webhook.test" }).filter({ hasText: "verified" });
      const sendTest = () => page.getByRole("button", { name: /test event/ }).click();

      // The receiver does not get to know the new one: during the overlap the old one holds.
      tab.allow(/ERR_FAILED .*receiver\/keys/);
      await page.route("**/sandbox/receiver/keys", (route) => route.abort());
      const first = await rotateSecret(page, /One day/);
      await first.getByText("The built-in receiver did not take it").waitFor();
      await first.getByRole("button", { name: "I have stored it" }).click();
      await sendTest();
      await expect.poll(() => verified.count(), PATIENCE).toBe(1);

      await page.unroute("**/sandbox/receiver/keys");
      const second = await rotateSecret(page, /None/);
      await second.getByText("The built-in receiver has it already").waitFor();
      await tab.picture("secret");
      await second.getByRole("button", { name: "I have stored it" }).click();
      expect(await remains(page)).not.toContain("whsec_");
      await sendTest();
      await expect.poll(() => verified.count(), PATIENCE).toBe(2);
    });
  });

  describe("the session", () => {
    it.each(["127.0.0.1", "localhost"])("is a cookie out of reach of scripts on http://%s", async (host) => {
      const tab = await openConsole(browser, `http://${host}:${service.port}`);
      await signIn(tab, demo.key);
      const cookies = await tab.context.cookies();
      // Without a dot before the domain: for this host alone.
      expect(cookies).toMatchObject([
        { name: "__Host-sluice", domain: host, path: "/", httpOnly: true, secure: true, sameSite: "Strict" },
      ]);
      const hours = ((cookies[0]?.expires ?? 0) - Date.now() / 1_000) / 3_600;
      expect(hours).toBeGreaterThan(11.9);
      expect(hours).toBeLessThanOrEqual(12);
      expect(await remains(tab.page)).not.toContain(cookies[0]?.value);
    });

    it("ends with its key, and leads back to the sign-in", async () => {
      const body = { name: "for an hour", scopes: ["read"] };
      const made = await demo.call<{ id: string; secret: string }>("POST", "/v1/api-keys", body);
      const tab = await signedIn(made.secret, { path: "/deposits" });
      await heading(tab.page, "Deposits").waitFor();
      tab.allow(REFUSED);
      await demo.call("DELETE", `/v1/api-keys/${made.id}`);
      await signInForm(tab).waitFor();
      expect(await remains(tab.page)).not.toContain("Demo shop");
    });

    it("does not begin with a key that is none", async () => {
      const tab = await opened();
      tab.allow(REFUSED);
      await tab.page.getByLabel("API key").fill(`${demo.key.slice(0, -4)}0000`);
      await tab.page.getByRole("button", { name: "Sign in" }).click();
      await tab.page
        .getByRole("alert")
        .getByText(/^Request \w+/)
        .waitFor();
      expect(await tab.context.cookies()).toEqual([]);
    });
  });

  it("runs its own scripts alone", async () => {
    const policy = (await fetch(service.url)).headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
    expect(policy).not.toMatch(/unsafe|data:|blob:|\*/);
    const tab = await signedIn(demo.key);
    tab.allow(/^console: .*Content Security Policy/);
    await tab.page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      const button = document.createElement("button");
      button.setAttribute("onclick", "window.ran = true");
      document.body.append(script, button);
      button.click();
    });
    expect(await tab.page.evaluate(() => "ran" in window)).toBe(false);
    const violations: string[] = [];
    await expect
      .poll(() => violations.push(...tab.takeFaults()) && violations.sort())
      .toEqual(["violation: script-src-attr blocked inline", "violation: script-src-elem blocked inline"]);
  });

  describe("by keyboard", () => {
    it("skips to the page", async () => {
      const { page } = await signedIn(demo.key, { path: "/deposits" });
      await page.reload();
      await heading(page, "Deposits").waitFor();
      await page.keyboard.press("Tab");
      const focused = page.locator(":focus");
      expect(await focused.textContent()).toBe("Skip to the page");
      await page.keyboard.press("Enter");
      expect(await focused.getAttribute("id")).toBe("main");
    });

    it("opens the menu of a phone, and comes back to where it was", async () => {
      const { page } = await signedIn(demo.key, { size: "phone" });
      const menu = page.getByRole("button", { name: "Menu" });
      const drawer = page.getByRole("dialog", { name: "Menu" });
      await menu.focus();
      await page.keyboard.press("Enter");
      await drawer.locator(":focus").waitFor();
      await page.keyboard.press("Escape");
      await drawer.waitFor({ state: "hidden" });
      expect(await page.locator(":focus").textContent()).toBe("Menu");
      await page.keyboard.press("Enter");
      await drawer.getByRole("link", { name: "Deposits" }).focus();
      await page.keyboard.press("Enter");
      await heading(page, "Deposits").waitFor();
      expect(await drawer.count()).toBe(0);
    });
  });

  it("has nothing against it on any screen, light at a desk and dark on a phone", async () => {
    await demo.fill();
    const tabs = [await opened({ size: "desk", scheme: "light" }), await opened({ size: "phone", scheme: "dark" })];
    const found = await Promise.all(tabs.map((tab) => lookAtEveryScreen(tab, demo.key)));
    expect(found.flat()).toEqual([]);
  });
});
