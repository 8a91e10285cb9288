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

import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environmentOf, findProgram } from "./debian-program.mjs";
import { names, ownSources } from "./debian-sources.mjs";

/** @type {import("./debian-program.mjs").Wanted} */
const CHROMIUM = {
  name: "chromium",
  setting: "SLUICE_CHROMIUM",
  installed: "/usr/bin/chromium",
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

/** @param {Parameters<typeof findProgram>[1]} [options] */
export function findChromium(options) {
  return findProgram(CHROMIUM, options);
}

/** @param {{ path: string } | { missing: string }} found */
export function chromiumEnvironment(found) {
  return environmentOf(CHROMIUM, found);
}

/** @param {string} missing */
export function noChromiumNotice(missing) {
  return `No Chromium, so the tests that need one are skipped: ${missing}. SLUICE_CHROMIUM=/path/to/chromium names another.`;
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
