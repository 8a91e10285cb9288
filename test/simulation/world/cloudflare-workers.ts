/** Stands in the place of `cloudflare:workers` where the objects run on Node. */

export class DurableObject<E = unknown> {
  protected readonly ctx: unknown;
  protected readonly env: E;

  constructor(ctx: unknown, env: E) {
    this.ctx = ctx;
    this.env = env;
  }
}
