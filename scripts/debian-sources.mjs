/**
 * Owns: how a machine's apt reaches Debian, as it is or turned to the suite sid. Mirror, keys and options stay as they are
 * written there; suite and components alone change. Both forms of sources.list(5) are read.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A name that only Debian's main archive has. Security and point-release archives have no sid. */
const DEBIAN =
  /^(debian|oldoldstable|oldstable|stable|testing|unstable|sid|buster|bullseye|bookworm|trixie|forky|duke)(-updates|-backports)?$/;

/**
 * @param {string} apt apt's configuration folder
 * @returns {{ name: string, text: string }[]} files for a folder of sources; none when no Debian mirror is named
 */
export function sidSources(apt) {
  const paths = files(apt).map(({ path }) => path);
  const lines = paths.filter((path) => path.endsWith(".list")).flatMap((path) => oneLine(read(path)));
  const stanzas = paths.filter((path) => path.endsWith(".sources")).flatMap((path) => deb822(read(path)));
  return [
    { name: "sid.list", all: [...new Set(lines)].join("\n") },
    { name: "sid.sources", all: [...new Set(stanzas)].join("\n\n") },
  ].flatMap(({ name, all }) => (all === "" ? [] : [{ name, text: `${all}\n` }]));
}

/**
 * The machine's own sources as they are: one of them may be out of reach or another's.
 * @param {string} apt apt's configuration folder
 */
export function ownSources(apt) {
  return files(apt)
    .filter(({ name }) => /\.(list|sources)$/.test(name))
    .flatMap(({ name, path }) => {
      const text = read(path);
      return /debian/.test(text) ? [{ name, text }] : [];
    });
}

function files(apt) {
  const parts = join(apt, "sources.list.d");
  return [
    { name: "sources.list", path: join(apt, "sources.list") },
    ...names(parts).map((name) => ({ name, path: join(parts, name) })),
  ];
}

/** `deb [ options ] uri suite component ...` */
function oneLine(text) {
  return text.split("\n").flatMap((line) => {
    const [, options = "", uri, suite, components] =
      /^\s*deb\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line) ?? [];
    return suite !== undefined && isMain(suite, components) ? [`deb ${options}${uri} sid main`] : [];
  });
}

/** Fields as in a mail's head; a line that begins with white space continues the one before. */
function deb822(text) {
  const stanzas = text
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n")
    .split(/\n\s*\n/);
  return stanzas.flatMap((stanza) => {
    const fields = stanza.split(/\n(?!\s)/).filter((one) => one.trim() !== "");
    const field = (name) => fields.find((one) => one.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1);
    const suites = (field("suites") ?? "").trim().split(/\s+/);
    const isOn = !/^\s*(no|false|off|0)\s*$/i.test(field("enabled") ?? "");
    const isBinary = /(^|\s)deb(\s|$)/.test(field("types") ?? "");
    if (!isOn || !isBinary || !suites.some((suite) => isMain(suite, field("components") ?? ""))) return [];
    const rest = fields.filter((one) => !/^(types|suites|components|architectures|enabled):/i.test(one));
    return [["Types: deb", "Suites: sid", "Components: main", ...rest.map((one) => one.trimEnd())].join("\n")];
  });
}

function isMain(suite, components) {
  return DEBIAN.test(suite) && components.trim().split(/\s+/).includes("main");
}

/** What is in a folder, in order; nothing when it is not there. */
export function names(folder) {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Nothing when it is not there. */
export function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not there, or not for this user's eyes.
    return "";
  }
}
