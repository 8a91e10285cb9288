/** What became of an address that somebody wrote. */

/**
 * `other_network`: a good address of another chain of the family. `not_payable`: its script is one that nobody
 * could be paid through safely.
 */
export type BadAddress = "malformed" | "bad_checksum" | "other_network" | "not_payable";

export type ParsedAddress =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly reason: BadAddress };
