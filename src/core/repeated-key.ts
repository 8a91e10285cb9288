/** JSON that says one thing twice. */

/**
 * The first key that an object in this JSON text names twice, as a dotted path, or null. `JSON.parse` keeps
 * the last one and says nothing. The text must already have parsed.
 */
export function repeatedKey(json: string): string | null {
  const open: { readonly keys: Set<string>; at: string }[] = [];
  let string = "";
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ keys: new Set(), at: "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token !== ":") string = token;
    else if (inner !== undefined) {
      inner.at = String(JSON.parse(string));
      if (inner.keys.has(inner.at)) return open.flatMap((object) => (object.at === "" ? [] : [object.at])).join(".");
      inner.keys.add(inner.at);
    }
  }
  return null;
}
