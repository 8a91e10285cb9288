/**
 * The named steps by which this program touches what may fail: calls that go out, and commits. In production a
 * step is the call itself and nothing else. A test sees each one go by, and lets the machine go away before it,
 * after it, or lets its answer be lost. A rule of the house keeps every way out on one of these.
 */

export interface StepHooks {
  /** A call that leaves, or that waits for the disk. `call` makes it, as often as it is called. */
  call<T>(name: string, call: () => Promise<T>): Promise<T>;
  /** A synchronous commit. `work` makes it, once. */
  commit<T>(name: string, work: () => T): T;
}

let hooks: StepHooks | null = null;

/** For tests alone: what sees the steps from now on. Null: nobody. */
export function onSteps(next: StepHooks | null): void {
  hooks = next;
}

export function step<T>(name: string, call: () => Promise<T>): Promise<T> {
  return hooks === null ? call() : hooks.call(name, call);
}

export function commitStep<T>(name: string, work: () => T): T {
  return hooks === null ? work() : hooks.commit(name, work);
}

interface Namespace {
  idFromName(name: string): unknown;
  get(id: never): object;
}

type Method = (...args: unknown[]) => Promise<unknown>;

/**
 * Another object, by its name; each call of a method is a step `<kind>.<method>`. Made anew for each call: a stub
 * of which one call failed stays broken.
 */
export function objectOf<T extends object>(kind: string, namespace: Namespace, name: string): T {
  const stub = namespace.get(namespace.idFromName(name) as never) as Record<string, Method>;
  return new Proxy(stub, {
    get: (_, method) => {
      // A stub has every method that it is asked for; it is no promise all the same.
      if (typeof method === "symbol" || method === "then") return undefined;
      return (...args: unknown[]) => step(`${kind}.${method}`, () => Reflect.apply(stub[method] as Method, stub, args));
    },
  }) as unknown as T;
}

/** The same of a kind that a service need not have; null: it has none. */
export function objectIfAny<T extends object>(kind: string, namespace: Namespace | undefined, name: string): T | null {
  return namespace === undefined ? null : objectOf<T>(kind, namespace, name);
}
