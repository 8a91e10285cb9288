/** Tabs of one browser: when one of them signs in as somebody else, none goes on showing who was signed in before. */

import { type QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { becomeSession, createQueries, followOtherTabs, heardSession } from "../../src/console/queries.ts";
import type { Session } from "../../src/sdk/types.ts";

const sessionOf = (tenant: string, key: string) => ({ tenant: { id: tenant }, api_key: { id: key } }) as Session;
const ACME = sessionOf("ten_acme", "key_acme");
const OTHER = sessionOf("ten_other", "key_other");

/** Whom the cookie names, which all tabs share. */
let cookie: Session | null;
const ends: (() => void)[] = [];

beforeEach(() => vi.stubGlobal("location", { search: "", hash: "" }));
afterEach(() => {
  for (const end of ends.splice(0)) end();
  vi.unstubAllGlobals();
});

async function openTab(): Promise<{ client: QueryClient; asked: () => number; shown: () => unknown }> {
  const client = createQueries();
  let asked = 0;
  const queryFn = async () => {
    asked++;
    heardSession(client, cookie);
    return cookie;
  };
  ends.push(followOtherTabs(client));
  ends.push(
    new QueryObserver(client, { queryKey: ["session"], queryFn, staleTime: Number.POSITIVE_INFINITY }).subscribe(
      () => {},
    ),
  );
  await vi.waitFor(() => expect(client.getQueryData(["session"])).toEqual(cookie));
  return { client, asked: () => asked, shown: () => client.getQueryData(["session"]) };
}

/** Long enough for whatever tabs still have to tell each other. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 50));

function signIn(tab: { client: QueryClient }, session: Session | null): void {
  cookie = session;
  becomeSession(tab.client, session);
}

test("all of them are whoever signed in last, and keep nothing of the one before", async () => {
  cookie = ACME;
  const [one, other] = [await openTab(), await openTab()];
  other.client.setQueryData(["balances"], "of Acme");
  signIn(one, OTHER);
  await vi.waitFor(() => expect(other.shown()).toEqual(OTHER));
  expect(other.client.getQueryData(["balances"])).toBeUndefined();
  signIn(other, null);
  await vi.waitFor(() => expect(one.shown()).toBeNull());
  await settled();
  expect([one.asked(), other.asked()]).toEqual([2, 2]);
});

test("a tab that is opened as somebody else, as by the link of a start, tells the others", async () => {
  cookie = ACME;
  const one = await openTab();
  cookie = OTHER;
  await openTab();
  await vi.waitFor(() => expect(one.shown()).toEqual(OTHER));
});

test("the same key again changes nothing, and a page on which nobody is signed in is left alone", async () => {
  cookie = null;
  const newcomer = await openTab();
  cookie = ACME;
  const [one, other] = [await openTab(), await openTab()];
  one.client.setQueryData(["balances"], "of Acme");
  signIn(other, sessionOf("ten_acme", "key_acme"));
  await settled();
  expect([newcomer.shown(), one.client.getQueryData(["balances"])]).toEqual([null, "of Acme"]);
  expect([newcomer.asked(), one.asked(), other.asked()]).toEqual([1, 1, 1]);
});
