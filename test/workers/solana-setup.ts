/** Starts a Solana chain beside workerd, which cannot load the validators' runtime, and tells the tests where it is. */

import type { TestProject } from "vitest/node";
import { startSolana } from "../support/solana-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly solana: { readonly urls: readonly string[]; readonly control: string };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { urls, control, stop } = await startSolana(2);
  project.provide("solana", { urls, control });
  return stop;
}
