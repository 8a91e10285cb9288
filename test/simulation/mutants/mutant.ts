/**
 * What a mutant is: a bug that somebody could have written, as a change of literal text in the source. Each text
 * occurs exactly once in its file; one that no longer does is a mutant of nothing, and is refused loudly.
 */

export interface Edit {
  /** Below the project's folder. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant extends Edit {
  readonly name: string;
  /** What it should be found by: names of the design's invariants, or "rest" for a world that never comes to rest. */
  readonly breaks: readonly string[];
  /** Where one change is not yet a bug. */
  readonly also?: readonly Edit[];
}

export function editsOf({ file, find, replace, also = [] }: Mutant): readonly Edit[] {
  return [{ file, find, replace }, ...also];
}

/** @throws when the text is not there exactly once */
export function applyEdit(source: string, { file, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2)
    throw new Error(`${file}: expected this text exactly once, got it ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}
