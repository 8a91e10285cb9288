/** The page's one style sheet, and the policy that lets it and nothing else in. Dark or light as the reader's system is. */

import { sha256 } from "@noble/hashes/sha256";
import { utf8ToBytes } from "@noble/hashes/utils";
import { toBase64 } from "../../core/base64.ts";

/** Text on its ground has a contrast of 4.5 or more, in both (WCAG 2.2, 1.4.3). A test measures it. */
export const COLOURS = {
  light: {
    ground: "#ffffff",
    soft: "#f4f6f8",
    line: "#d0d5da",
    text: "#1c2024",
    dim: "#5a626b",
    link: "#0b5cad",
    get: "#0b5cad",
    post: "#1a6b3a",
    put: "#8a4b00",
    delete: "#a8232e",
  },
  dark: {
    ground: "#14171a",
    soft: "#1e2327",
    line: "#3a4148",
    text: "#e6e9ec",
    dim: "#a3adb6",
    link: "#7ab8f5",
    get: "#7ab8f5",
    post: "#6fcf97",
    put: "#f0b46b",
    delete: "#ff8a8f",
  },
} as const;

function variables(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, colour]) => `--${name}:${colour}`)
    .join(";");
}

export const STYLE = `
:root{color-scheme:light dark;${variables(COLOURS.light)}}
@media (prefers-color-scheme:dark){:root{${variables(COLOURS.dark)}}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;margin:0;color:var(--text);background:var(--ground)}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100vw;background:var(--ground);padding:.5rem 1rem;z-index:1}
.skip:focus{left:.5rem;top:.5rem}
main{max-width:58rem;padding:1rem;min-width:0}
nav{padding:1rem;background:var(--soft);border-bottom:1px solid var(--line);font-size:.9rem}
nav summary,nav p{font-weight:600}
nav p{margin:.75rem 0 .1rem}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:block;padding:.2rem 0;text-decoration:none}
nav li a:hover{text-decoration:underline}
h1{font-size:1.8rem;line-height:1.2;margin:.5rem 0}
h2{margin:3rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
h3{margin:2.5rem 0 .25rem;font-size:1.15rem}
h4{margin:1.25rem 0 .25rem;font-size:1rem}
p{margin:.4rem 0;max-width:46rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.86em}
code{overflow-wrap:anywhere}
pre{background:var(--soft);padding:.75rem 1rem;overflow:auto;border-radius:.4rem}
.call{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline;background:var(--soft);padding:.4rem .75rem;border-radius:.4rem}
.call code{font-size:.95em}
.method{font:600 .8rem ui-monospace,monospace;text-transform:uppercase}
.get{color:var(--get)}.post{color:var(--post)}.put,.patch{color:var(--put)}.delete{color:var(--delete)}
.dim{color:var(--dim);font-size:.9em}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.25rem 0 .5rem}
caption{text-align:left;font-weight:600;padding:.5rem 0 .1rem}
td,th{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
thead th{color:var(--dim);font-weight:600}
tbody th{font-weight:400}
details{margin:.5rem 0}
summary{cursor:pointer}
:target{outline:2px solid var(--link);outline-offset:.4rem;border-radius:.2rem}
@media (min-width:64rem){
body{display:grid;grid-template-columns:18rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow-y:auto;border-bottom:0;border-right:1px solid var(--line)}
main{padding:1rem 2.5rem 6rem}
}
@media print{nav,.skip{display:none}body{display:block}}
`;

export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${toBase64(sha256(utf8ToBytes(STYLE)))}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
