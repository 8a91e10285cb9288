/** The one log that shows a token payment: EIP-20's Transfer, with its three indexed topics and one word of data. */

export interface EvmLog {
  /** Lower case. */
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** keccak256("Transfer(address,address,uint256)") */
export const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export interface TokenPayment {
  readonly contract: string;
  readonly from: string;
  readonly to: string;
  readonly amountUnits: bigint;
}

/** Whether these logs hold exactly this payment. A token that takes a fee moves less, and does not count as paid. */
export function showsPayment(logs: readonly EvmLog[], payment: TokenPayment): boolean {
  return logs.some(
    ({ address, topics, data }) =>
      address === payment.contract &&
      topics.length === 3 &&
      topics[0] === TRANSFER_TOPIC &&
      topics[1] === topicOf(payment.from) &&
      topics[2] === topicOf(payment.to) &&
      /^0x[0-9a-f]{64}$/.test(data) &&
      BigInt(data) === payment.amountUnits,
  );
}

function topicOf(address: string): string {
  return `0x${"0".repeat(24)}${address.slice(2)}`;
}
