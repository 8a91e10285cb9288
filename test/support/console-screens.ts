/**
 * Every screen of the console, one after the other: what axe has against it, and whether it is wider than the window. A
 * picture of each is kept.
 */

import type { Locator, Page, Tab } from "./browser.ts";
import { heading, loaded, side, signIn, signInForm } from "./console-tab.ts";

const PAGES = {
  "/": "Overview",
  "/deposits": "Deposits",
  "/addresses": "Addresses",
  "/withdrawals": "Withdrawals",
  "/webhooks": "Webhooks",
  "/incidents": "Incidents",
  "/ledger": "Ledger",
  "/reconciliation": "Reconciliation",
  "/policies": "Policies",
  "/keys": "API keys",
  "/sandbox": "Sandbox",
} as const;

/** What is behind the first row of a list: where, its table, the page it leads to. */
const BEHIND = [
  ["/deposits", "Deposits", "Deposit"],
  ["/withdrawals", "Withdrawals", "Withdrawal"],
  ["/webhooks", "Endpoints", "Webhook endpoint"],
] as const;

/** Opened by a button of this name on a page: a dialog, or another tab. */
const OPENED = [
  ["/addresses", "button", "Register by hand"],
  ["/addresses", "button", /^QR code, deposits/],
  ["/addresses", "tab", "Extended keys"],
  ["/withdrawals", "button", "New withdrawal"],
  ["/withdrawals", "tab", "Hot wallets"],
  ["/webhooks", "button", "Create an endpoint"],
  ["/keys", "button", "Create a key"],
] as const;

/**
 * @param tab at the sign-in form
 * @param key of a tenant that has something to show on each
 * @returns a line for each thing that is wrong
 */
export async function lookAtEveryScreen(tab: Tab, key: string): Promise<string[]> {
  const { page, size } = tab;
  const found: string[] = [];
  const window = page.viewportSize()?.width ?? 0;

  const look = async (name: string) => {
    await loaded(page);
    await tab.picture(name);
    found.push(...(await tab.inaccessible()).map((one) => `${size}: ${name}: ${one}`));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > window) found.push(`${size}: ${name}: is ${width} wide`);
  };
  const visit = async (path: keyof typeof PAGES) => {
    await page.evaluate((hash) => location.assign(hash), `#${path}`);
    await heading(page, PAGES[path]).waitFor();
    await loaded(page);
  };

  await signInForm(tab).waitFor();
  await look("sign-in");
  await signIn(tab, key);
  for (const path of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
    await visit(path);
    await look(PAGES[path]);
  }
  for (const [path, table, name] of BEHIND) {
    await visit(path);
    await firstLink(page.getByRole("table", { name: table })).click();
    await heading(page, name).waitFor();
    await look(name);
  }
  for (const [path, role, name] of OPENED) {
    await visit(path);
    await page.getByRole(role, { name }).first().click();
    await look(`${PAGES[path]} ${typeof name === "string" ? name : name.source}`);
    if (role === "button") await close(page);
  }
  if (size === "phone") {
    await side(page, size);
    await look("menu");
  }
  return found;
}

const firstLink = (within: Locator) => within.getByRole("link").first();

async function close(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}
