/** What a test process must clear away however it ends, short of a kill -9: also when its runner is stopped. */

const sweeps = new Set<() => void>();
let isWatching = false;

/** Registers `sweep`, which must be synchronous. Gives what takes it back. */
export function atExit(sweep: () => void): () => void {
  if (!isWatching) watch();
  sweeps.add(sweep);
  return () => void sweeps.delete(sweep);
}

function watch(): void {
  isWatching = true;
  process.on("exit", () => {
    for (const sweep of sweeps) sweep();
  });
  // None of these runs the handlers above by itself. `disconnect`: the runner is gone.
  for (const event of ["SIGTERM", "SIGINT", "SIGHUP", "disconnect"]) process.once(event, () => process.exit(1));
}
