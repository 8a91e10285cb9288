/** A Worker: it is bundled, not imported. */
declare const worker: object;
export default worker;
