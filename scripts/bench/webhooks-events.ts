/** The events that every contestant delivers, made from their number: four to a subject, which lie fifty events apart. */

export const EVENTS_PER_SUBJECT = 4;
const SUBJECTS_SIDE_BY_SIDE = 50;
const GROUP = EVENTS_PER_SUBJECT * SUBJECTS_SIDE_BY_SIDE;

/** @param run four characters, for names that no other run has @param n from 0 */
export function eventAt(run: string, n: number) {
  const within = n % GROUP;
  const subject = Math.floor(n / GROUP) * SUBJECTS_SIDE_BY_SIDE + (within % SUBJECTS_SIDE_BY_SIDE);
  const subjectSequence = Math.floor(within / SUBJECTS_SIDE_BY_SIDE) + 1;
  return eventOf(run, n, `deposit:dep_${run}${pad(subject, 22)}`, subjectSequence);
}

function eventOf(run: string, n: number, subject: string, subjectSequence: number) {
  const id = `evt_${run}${pad(n, 22)}`;
  const body = JSON.stringify({
    id,
    type: "deposit.confirmed",
    api_version: "2026-11-01",
    sequence: n + 1,
    subject,
    subject_sequence: subjectSequence,
    created_at: "2026-11-01T12:00:00.000Z",
    data: {
      id: subject.slice("deposit:".length),
      network: "ethereum",
      asset: "USDC",
      tx_id: `0x${pad(n, 64)}`,
      transfer_index: "log:3",
      address: "0x52908400098527886e0f7030069857d2e4169ee7",
      account: "customer-4711",
      amount: "1250.5",
      amount_units: "1250500000",
      status: "confirmed",
      epoch: 1,
      confirmations: 12,
      confirmations_required: 12,
      block_height: 21_000_000,
      block_hash: `0x${pad(n, 64)}`,
      created_at: "2026-11-01T11:57:00.000Z",
      confirmed_at: "2026-11-01T12:00:00.000Z",
      reverted_at: null,
      settled_at: null,
    },
  });
  return { id, type: "deposit.confirmed" as const, sequence: n + 1, subject, subjectSequence, body };
}

function pad(n: number, length: number): string {
  return String(n).padStart(length, "0");
}
