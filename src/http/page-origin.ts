/** What the Origin of a page proves about the site that it is of. */

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/**
 * Whether the page's site may be anybody's: a name over http, which no certificate proves, and which its owner can point
 * anywhere. `localhost` and addresses are looked up nowhere.
 */
export function isOfUnprovenName(origin: string): boolean {
  if (!URL.canParse(origin)) return true;
  const { protocol, hostname } = new URL(origin);
  if (protocol !== "http:") return false;
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return !isLocal && !hostname.startsWith("[") && !IPV4.test(hostname);
}
