/**
 * Owns: what the simulator's libraries compute once instead of a hundred times. Each change gives what the library
 * gives, for every input; the product's own modules stay as they are. Texts are of the versions that the lock file
 * names: one that no longer fits is an error of the build.
 */

/** Whether a value is of a kind is asked millions of times, of a few dozen classes. */
const kinds = {
  file: "drizzle-orm/entity.js",
  find: "function is(value, type) {",
  replace: `const known = new Map();
function is(value, type) {
  if (!value || typeof value !== "object") return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return compare(value, type);
  let answers = known.get(type);
  if (answers === undefined) known.set(type, (answers = new Map()));
  let answer = answers.get(prototype);
  if (answer === undefined) answers.set(prototype, (answer = compare(value, type)));
  return answer;
}
function compare(value, type) {`,
};

/** Its settings are the same all the way down, and were copied for each piece of a query. */
const QUERY = "drizzle-orm/sql/sql.js";
const queries = [
  {
    file: QUERY,
    find: `    const config = Object.assign({}, _config, {
      inlineParams: _config.inlineParams || this.shouldInlineParams,
      paramStartIndex: _config.paramStartIndex || { value: 0 }
    });`,
    replace: `    const isWhole = _config.paramStartIndex !== void 0 && _config.inlineParams !== void 0;
    const config = isWhole && (_config.inlineParams || !this.shouldInlineParams) ? _config : Object.assign({}, _config, {
      inlineParams: _config.inlineParams || this.shouldInlineParams,
      paramStartIndex: _config.paramStartIndex || { value: 0 }
    });`,
  },
  {
    file: QUERY,
    find: "        return this.buildQueryFromSourceParams(chunk.queryChunks, {\n          ...config,",
    replace:
      "        return this.buildQueryFromSourceParams(chunk.queryChunks, inlineParams || !chunk.shouldInlineParams ? config : {\n          ...config,",
  },
];

/**
 * Worlds sign and read the same bytes again and again; none of it can come out otherwise. Whose a signature is, is
 * known when it is made; one that was changed by a bit is worked out.
 */
const CURVE = "@noble/curves/esm/abstract/weierstrass.js";
const curve = [
  {
    file: CURVE,
    find: "export function weierstrass(curveDef) {",
    replace: `const MOST_KNOWN = 5_000;
function once(compute, nameOf) {
  const known = new Map();
  const put = (answer, ...args) => {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(nameOf(...args), answer);
    return answer;
  };
  return Object.assign((...args) => known.get(nameOf(...args)) ?? put(compute(...args), ...args), { put });
}
const nameOfBytes = (bytes) => (typeof bytes === 'string' ? bytes.toLowerCase() : bytesToHex(bytes));
export function weierstrass(curveDef) {`,
  },
  {
    file: CURVE,
    find: `        recoverPublicKey(msgHash) {
            const { r, s, recovery: rec } = this;`,
    replace: `        recoverPublicKey(msgHash) {
            return recoverOnce(this, nameOfBytes(msgHash));
        }
        recoverAnew(msgHash) {
            const { r, s, recovery: rec } = this;`,
  },
  {
    file: CURVE,
    find: "    function getPublicKey(privateKey, isCompressed = true) {\n        return ",
    replace: `    const recoverOnce = once((signature, hash) => signature.recoverAnew(hash), ({ r, s, recovery }, hash) => \`\${r}/\${s}/\${recovery}/\${hash}\`);
    const pointOnce = once((key) => Point.fromPrivateKey(key), (key) => key);
    const publicKeyOnce = once((key, isCompressed) => publicKeyAnew(key, isCompressed), (key, isCompressed) => \`\${key}/\${isCompressed}\`);
    function getPublicKey(privateKey, isCompressed = true) {
        const key = typeof privateKey === 'bigint' ? numToSizedHex(privateKey, CURVE.nByteLength) : nameOfBytes(privateKey);
        return publicKeyOnce(key, isCompressed).slice();
    }
    function publicKeyAnew(privateKey, isCompressed) {
        return `,
  },
  {
    file: CURVE,
    find: "    function sign(msgHash, privKey, opts = defaultSigOpts) {",
    replace: `    const signOnce = once((hash, key, opts) => signAnew(hash, key, opts), (hash, key, { lowS, prehash }) => \`\${hash}/\${key}/\${lowS}/\${prehash}\`);
    function sign(msgHash, privKey, opts = defaultSigOpts) {
        if (opts.extraEntropy || typeof privKey === 'bigint')
            return signAnew(msgHash, privKey, opts);
        const [hash, key] = [nameOfBytes(msgHash), nameOfBytes(privKey)];
        const signature = signOnce(hash, key, opts);
        recoverOnce.put(pointOnce(key), signature, hash);
        return new Signature(signature.r, signature.s, signature.recovery);
    }
    function signAnew(msgHash, privKey, opts) {`,
  },
];

/** @type {readonly import("../test/simulation/mutants/mutant.ts").Edit[]} files below node_modules */
export const speedEdits = [kinds, ...queries, ...curve];
