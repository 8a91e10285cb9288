/** What a customer has: the sum of the entries, in base units. Below zero when a reversal came after it was spent. */
export async function balanceOf(db: D1Database, account: string, asset: string): Promise<bigint> {
  const { results } = await db
    .prepare("SELECT units FROM entries WHERE account = ? AND asset = ?")
    .bind(account, asset)
    .all<{ units: string }>();
  return results.reduce((sum, { units }) => sum + BigInt(units), 0n);
}
