/**
 * The session's cookie. `__Host-` has the browser hold it to this host alone, over TLS or on the machine itself;
 * HttpOnly keeps scripts from it, SameSite=Strict keeps it from what other sites ask for.
 */

import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";

const NAME = "sluice";
export const SESSION_COOKIE = `__Host-${NAME}`;

/** What the browser sent, as it came; null: nothing. */
export function sessionCookie(c: Context): string | null {
  return getCookie(c, NAME, "host") ?? null;
}

export function setSessionCookie(c: Context, token: string, maxAgeS: number): void {
  setCookie(c, NAME, token, {
    prefix: "host",
    path: "/",
    secure: true,
    httpOnly: true,
    sameSite: "Strict",
    maxAge: maxAgeS,
  });
}

export function clearSessionCookie(c: Context): void {
  setSessionCookie(c, "", 0);
}

/** Whether a page of this very origin sent it: scheme, host and port. A browser sends Origin with every change. */
export function isOfOwnOrigin(c: Context): boolean {
  return c.req.header("origin") === new URL(c.req.url).origin;
}
