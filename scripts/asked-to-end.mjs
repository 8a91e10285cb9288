/** Owns: the question whether this script is to end: by a signal, or because the npm that runs it is gone. */

const LOOK_EVERY_MS = 200;

/**
 * @returns {AbortSignal} aborts once. A terminal's Ctrl-C comes twice, from the terminal and from npm: the
 *   second changes nothing
 */
export function askedToEnd() {
  const asked = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => asked.abort());
  // Whoever kills npm means what npm runs. Started by hand, a script may outlive the shell it came from.
  if (process.env.npm_lifecycle_event !== undefined) {
    const npm = process.ppid;
    setInterval(() => process.ppid !== npm && asked.abort(), LOOK_EVERY_MS).unref();
  }
  return asked.signal;
}
