/**
 * The one client of the page. It carries no key: the browser sends the session's cookie, which no script can read.
 */

import { Sluice } from "../sdk/client.ts";
import { watchedFetch } from "./reach.ts";

export const sluice = new Sluice({ apiKey: null, baseUrl: location.origin, fetch: watchedFetch });
