/**
 * Before each test file: several files run one after the other in the same runtime, for starting one and sending it
 * every module costs seconds. Nothing of the file before is left to the next one: its objects and databases are gone,
 * what it spied on is itself again, and every module, of the product as of the tests, is evaluated anew.
 */

import { reset } from "cloudflare:test";
import { vi } from "vitest";

vi.restoreAllMocks();
vi.useRealTimers();
vi.resetModules();
await reset();
const { migrate } = await import("./schema.ts");
await migrate();
