/**
 * A real browser for one test file: headless Chromium, a context of its own (cookies, storage) for each tab. Whatever
 * goes wrong in a page without a test asking for it fails that test: an error in its console, an exception nobody
 * caught, a violation of its content security policy.
 *
 * Where no Chromium can be had, `noChromium` says why, and the tests are listed as skipped:
 * `describe.skipIf(noChromium)("...", () => { ... })`.
 *
 * What is seen on the way is kept as pictures in dist/screenshots, or in the folder that `SLUICE_SCREENSHOTS` names.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { chromiumEnvironment, findChromium, noChromiumNotice } from "../../scripts/chromium.mjs";
import { PROJECT } from "../../scripts/install.mjs";

export type { Locator, Page, Route } from "playwright-core";

const found = await findChromium();
if ("missing" in found && process.env.SLUICE_CHROMIUM_MISSING === undefined)
  console.error(noChromiumNotice(found.missing));
// Other files in this process need not look again, nor say so again.
Object.assign(process.env, chromiumEnvironment(found));

/** Why there is no browser for tests; null when there is one. */
export const noChromium: string | null = "missing" in found ? found.missing : null;

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** What a page does by itself on a busy machine. */
const WITHIN_MS = 20_000;
/** The page's own report of a violation, by a name that no page has. */
const REPORT = "__violation";

export const SIZES = {
  desk: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;
export type Size = keyof typeof SIZES;

export interface TabOptions {
  readonly size?: Size;
  readonly scheme?: "light" | "dark";
}

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly size: Size;
  /** From now on this is no fault. What it is matched with is a line such as `console: Failed to load ... (URL)`. */
  allow(fault: RegExp): void;
  /** What went wrong so far. What was taken here does not fail the test any more. */
  takeFaults(): string[];
  /** Keeps a picture of the whole page. */
  picture(name: string): Promise<void>;
  /** What axe finds against the whole page, a line each. */
  inaccessible(): Promise<string[]>;
}

export interface TestBrowser {
  open(options?: TabOptions): Promise<Tab>;
  /**
   * Closes every tab.
   * @param failed name of the test that did: what was seen last is kept
   * @throws Error with every fault that nobody took
   */
  closeTabs(failed?: string): Promise<void>;
  stop(): Promise<void>;
}

/** It is gone when the test process is: it ends when the pipe to it is closed. */
export async function startBrowser(): Promise<TestBrowser> {
  if ("missing" in found) throw new Error(noChromiumNotice(found.missing));
  const browser = await chromium.launch({ executablePath: found.path, args: ARGS });
  const tabs = new Set<Tab>();
  return {
    async open({ size = "desk", scheme = "light" } = {}) {
      const phone = size === "phone";
      const context = await browser.newContext({
        viewport: SIZES[size],
        isMobile: phone,
        hasTouch: phone,
        colorScheme: scheme,
        reducedMotion: "reduce",
        permissions: ["clipboard-read", "clipboard-write"],
      });
      context.setDefaultTimeout(WITHIN_MS);
      const tab = await tabIn(context, size, scheme);
      tabs.add(tab);
      return tab;
    },
    async closeTabs(failed) {
      const open = [...tabs];
      tabs.clear();
      if (failed !== undefined) await Promise.all(open.map((tab) => tab.picture(`failed-${failed}`)));
      await Promise.all(open.map(({ context }) => context.close()));
      const faults = open.flatMap((tab) => tab.takeFaults());
      if (faults.length > 0) throw new Error(`in the browser:\n${faults.join("\n")}`);
    },
    stop: () => browser.close(),
  };
}

async function tabIn(context: BrowserContext, size: Size, scheme: string): Promise<Tab> {
  const faults: string[] = [];
  const allowed: RegExp[] = [];
  const note = (fault: string) => {
    if (!allowed.some((one) => one.test(fault))) faults.push(fault);
  };
  await context.exposeFunction(REPORT, (violation: string) => note(`violation: ${violation}`));
  await context.addInitScript((report) => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
      const tell = (window as unknown as Record<string, (violation: string) => void>)[report];
      tell?.(`${effectiveDirective} blocked ${blockedURI}`);
    });
  }, REPORT);
  // Of every page in the context.
  context.on("console", (message) => {
    if (message.type() === "error") note(`console: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => note(`uncaught: ${error.error().stack ?? error.error().message}`));
  const page = await context.newPage();
  return {
    page,
    context,
    size,
    allow: (fault) => void allowed.push(fault),
    takeFaults: () => faults.splice(0),
    async picture(name) {
      const folder = resolve(PROJECT, process.env.SLUICE_SCREENSHOTS || join("dist", "screenshots"));
      mkdirSync(folder, { recursive: true });
      const file = `${name.replaceAll(/[^\w]+/g, "-").toLowerCase()}-${size}-${scheme}.png`;
      await page.screenshot({ path: join(folder, file), fullPage: true });
    },
    async inaccessible() {
      // Legacy: without a page of axe's own for frames, of which there are none.
      const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary?.replaceAll(/\s+/g, " ")}`),
      );
    },
  };
}
