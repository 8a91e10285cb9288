/**
 * The console as a merchant finds their way in it: by what things are called and by nothing else, at a desk or on a
 * phone.
 */

import { expect, vi } from "vitest";
import type { Chain } from "./anvil.ts";
import type { Locator, Page, Route, Size, Tab, TabOptions, TestBrowser } from "./browser.ts";

const PATIENCE = { timeout: 20_000 };

export async function openConsole(browser: TestBrowser, url: string, options: TabOptions = {}): Promise<Tab> {
  const tab = await browser.open(options);
  await tab.page.goto(url);
  return tab;
}

export const signInForm = ({ page }: { readonly page: Page }) => page.getByRole("form", { name: "Sign in" });

export async function signIn({ page }: { readonly page: Page }, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("main").locator("h1").filter({ hasNotText: "Sign in" }).waitFor();
}

export const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1, exact: true });

/** What stands beside the page; on a phone it is in the drawer, which is opened. */
export async function side(page: Page, size: Size): Promise<Locator> {
  if (size === "desk") return page.getByRole("complementary");
  await page.getByRole("button", { name: "Menu" }).click();
  return page.getByRole("dialog", { name: "Menu" });
}

/** By the menu. */
export async function go(page: Page, size: Size, name: string): Promise<void> {
  await (await side(page, size)).getByRole("link", { name, exact: true }).click();
  await heading(page, name).waitFor();
}

/** Nothing that is shown is still waited for. */
export async function loaded(page: Page): Promise<void> {
  await expect.poll(() => page.getByRole("status", { name: "Loading" }).count(), PATIENCE).toBe(0);
}

async function choose(page: Page, within: Locator, field: string, choice: string | RegExp): Promise<void> {
  await within.getByRole("combobox", { name: field }).click();
  await page.getByRole("option", { name: choice }).click();
}

/** @returns the dialog that shows the new one */
export async function rotateSecret(page: Page, overlap: RegExp): Promise<Locator> {
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  const form = page.getByRole("form", { name: "Rotate" });
  await choose(page, form, "Overlap", overlap);
  await form.getByRole("button", { name: "Rotate" }).click();
  const shown = page.getByRole("dialog", { name: "The endpoint's secret" });
  expect(await shown.getByRole("status", { name: "Secret" }).textContent()).toMatch(/^whsec_/);
  return shown;
}

/** The sandbox's own page: what happens on the chain, by its buttons. */
export interface SandboxPage {
  readonly page: Page;
  pay(amount: string): Promise<void>;
  mine(blocks: number): Promise<void>;
  reorganise(depth: number): Promise<void>;
}

/**
 * In another tab of the same browser, as it is used: what it does is looked at in the first. The one that is used is in
 * front: behind it a page draws once a second, and each click waits for two pictures.
 */
export async function openSandbox({ context, page: first }: Tab, url: string): Promise<SandboxPage> {
  const page = await context.newPage();
  await page.goto(`${url}/#/sandbox`);
  await first.bringToFront();
  const form = (name: string) => page.getByRole("form", { name });
  /** @returns once it is done; a refusal would be seen by what does not happen next */
  async function fill(name: string, field: string, value: number | string, button: string): Promise<void> {
    await page.bringToFront();
    await form(name).getByLabel(field).fill(String(value));
    await form(name).getByRole("button", { name: button, exact: true }).click();
    await form(name).getByRole("button", { name: button, exact: true }).waitFor();
    await first.bringToFront();
  }
  return {
    page,
    pay: (amount) => fill("Pay an address", "Amount", amount, "Pay"),
    mine: (blocks) => fill("Mine blocks", "Blocks", blocks, "Mine"),
    reorganise: (depth) => fill("Reorganise", "Depth", depth, "Reorganise"),
  };
}

/** The service does what it is asked, and its answer is lost on the way. */
export async function loseAnswer(route: Route): Promise<void> {
  await route.fetch();
  await route.abort();
}

/** The local chain's own blocks, which come by themselves after a payment, would run ahead of who looks. */
export async function withoutOwnBlocks(chain: Chain, work: () => Promise<void>): Promise<void> {
  await chain.rpc("evm_setAutomine", [false]);
  try {
    await work();
  } finally {
    await chain.rpc("evm_setAutomine", [true]);
  }
}

export async function mineOnceSent(chain: Chain): Promise<void> {
  await vi.waitFor(async () => expect(await chain.rpc("txpool_status")).toMatchObject({ pending: "0x1" }), PATIENCE);
  await chain.mine();
}

/** Everything that a script of the page, an extension or somebody at the machine finds in it. */
export async function remains(page: Page): Promise<string> {
  return page.evaluate(async () =>
    JSON.stringify({
      local: { ...localStorage },
      session: { ...sessionStorage },
      databases: await indexedDB.databases(),
      caches: await caches.keys(),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
      cookie: document.cookie,
      url: location.href,
      history: history.state,
      name: window.name,
      page: document.documentElement.outerHTML,
      fields: [...document.querySelectorAll("input")].map(({ value }) => value),
    }),
  );
}
