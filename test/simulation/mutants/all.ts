/** Every seeded bug there is, by the line of the house that it breaks. */

import { depositLine } from "./deposit-line.ts";
import { eventLine } from "./event-line.ts";
import { houseLine } from "./house-line.ts";
import type { Mutant } from "./mutant.ts";
import { reservations } from "./reservations.ts";
import { withdrawalLine } from "./withdrawal-line.ts";

export const mutants: readonly Mutant[] = [
  ...depositLine,
  ...withdrawalLine,
  ...reservations,
  ...eventLine,
  ...houseLine,
];
