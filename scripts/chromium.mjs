/**
 * Owns: where the tests' browser comes from. `findChromium` gives one that has been seen to start, or says why there is
 * none.
 *
 * It is Debian's `chromium` of the suite that this machine's apt already uses, so that the machine's own C library runs it,
 * with the other libraries it needs and a font; or the one that is installed.
 *
 * Settings: `SLUICE_CHROMIUM`, a Chromium to use instead.
 *
 * Node's built-in modules only, Node 20 and later.
 */

import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, versionOf } from "./debian-program.mjs";
import { Stop } from "./install.mjs";

/** Set by who has looked already and has told the reader. */
const MISSING = "SLUICE_CHROMIUM_MISSING";
const INSTALLED = "/usr/bin/chromium";

/** @type {import("./debian-program.mjs").Wanted} */
const CHROMIUM = {
  name: "chromium",
  edition: "1",
  packages: ["chromium", "fonts-dejavu-core"],
  sources: ownSources,
  // It starts itself anew by its own path, so it cannot be run through a loader of ours: the machine's C library is taken.
  // Drivers, icons and what installs packages are of no use without a screen.
  takes: (archive) =>
    !/^(libc6|libc-bin|libcrypt1|perl.*|libperl.*|libllvm.*|libz3-.*|libgl1-mesa-dri|.*-icon-theme|systemd)_/.test(
      archive,
    ),
  keep: keepWhatRuns,
  version: /^Chromium \d/,
  ask: ["--version", "--no-sandbox"],
  notice: "Unpacking Chromium for the tests from Debian's packages (about a minute, only once) ...",
};

/**
 * @param {object} [options]
 * @param {Record<string, string | undefined>} [options.environment]
 * @param {AbortSignal} [options.signal] ends a running installation
 * @param {string} [options.apt] apt's configuration folder
 * @param {(line: string) => void} [options.say] takes what is shown while it is fetched
 * @returns {Promise<{ path: string, version: string } | { missing: string }>} `missing` is a sentence for people
 * @throws Stop when SLUICE_CHROMIUM does not start: who names a browser wants that one
 */
export async function findChromium({ environment = process.env, signal, apt = "/etc/apt", say = console.error } = {}) {
  const given = environment.SLUICE_CHROMIUM;
  if (given) {
    const found = await versionOf(given, CHROMIUM);
    if ("version" in found) return { path: given, version: found.version };
    throw new Stop(`SLUICE_CHROMIUM names ${given}, which does not start: ${found.failed}`);
  }
  if (environment[MISSING]) return { missing: environment[MISSING] };
  const installed = await versionOf(INSTALLED, CHROMIUM);
  if ("version" in installed) return { path: INSTALLED, version: installed.version };
  return findProgram(CHROMIUM, { environment, signal, apt, say });
}

/**
 * What a child that runs tests must have in its environment, so that it does not look again.
 * @param {{ path: string } | { missing: string }} found
 * @returns {Record<string, string>}
 */
export function chromiumEnvironment(found) {
  return "path" in found ? { SLUICE_CHROMIUM: found.path } : { [MISSING]: found.missing };
}

/** @param {string} missing */
export function noChromiumNotice(missing) {
  return `No Chromium, so the tests that need one are skipped: ${missing}. SLUICE_CHROMIUM=/path/to/chromium names another.`;
}

/** The machine's own sources as they are: one of them may be out of reach or another's. */
function ownSources(apt) {
  const parts = join(apt, "sources.list.d");
  const files = [
    { name: "sources.list", path: join(apt, "sources.list") },
    ...names(parts).map((name) => ({ name, path: join(parts, name) })),
  ];
  return files
    .filter(({ name }) => /\.(list|sources)$/.test(name))
    .flatMap(({ name, path }) => {
      const text = read(path);
      return /debian/.test(text) ? [{ name, text }] : [];
    });
}

/** All of it, with the libraries named in a script that starts it, and its fonts in a configuration of its own. */
async function keepWhatRuns(root, folder) {
  for (const name of names(join(root, "usr", "share")).filter((one) => one !== "fonts"))
    rmSync(join(root, "usr", "share", name), { recursive: true });
  renameSync(root, join(folder, "root"));
  writeFileSync(
    join(folder, "fonts.conf"),
    `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig><dir prefix="relative">root/usr/share/fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>\n`,
  );
  const paths = libraryFolders(join(folder, "root"), ["usr/lib", "lib"])
    .map((path) => `$home/root/${path}`)
    .join(":");
  writeFileSync(
    join(folder, "chromium"),
    `#!/bin/sh\nhome=$(dirname "$(readlink -f "$0")")\nexport LD_LIBRARY_PATH="${paths}" FONTCONFIG_FILE="$home/fonts.conf"\nexec "$home/root/usr/lib/chromium/chromium" "$@"\n`,
  );
  chmodSync(join(folder, "chromium"), 0o755);
}

/** Those of this platform and the ones in them, where some libraries keep parts of their own. */
function libraryFolders(root, places) {
  return places.flatMap((place) =>
    names(join(root, place))
      .filter((name) => /-linux-gnu/.test(name))
      .flatMap((name) => {
        const own = `${place}/${name}`;
        const inner = names(join(root, own)).map((part) => `${own}/${part}`);
        return [own, ...inner.filter((path) => names(join(root, path)).some((file) => /^lib.*\.so/.test(file)))];
      }),
  );
}

function names(folder) {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not there, or not for this user's eyes.
    return "";
  }
}
