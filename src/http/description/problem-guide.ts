/** What each code means to whoever meets it: when it comes, and what to do about it. `/docs` and docs/errors.md show it. */

import type { RefusalCode } from "../../core/refusal.ts";

export interface Advice {
  readonly when: string;
  readonly remedy: string;
  /** A detail as an answer might have it. */
  readonly detail: string;
}

export const PROBLEM_GUIDE: Readonly<Record<RefusalCode, Advice>> = {
  malformed_json: {
    when: "The body is not one JSON object in UTF-8, names a field twice, or is nested deeper than 16.",
    remedy: "Mend the program that writes the body.",
    detail: "The body is not valid JSON.",
  },
  invalid_header: {
    when: "A header cannot be read. Kept for that; no call answers it today.",
    remedy: "Mend the header that detail names.",
    detail: "A header cannot be read.",
  },
  invalid_cursor: {
    when: "A cursor is not one that this list gave out.",
    remedy: "Pass next_cursor as it came, to the same call; or begin again without one.",
    detail: "Pass a next_cursor of this list as it came.",
  },
  invalid_idempotency_key: {
    when: "The Idempotency-Key has not 1 to 255 printable ASCII characters, or a space at an end.",
    remedy: "Send a key that fits, such as your own id of the thing.",
    detail: "An Idempotency-Key has 1 to 255 printable ASCII characters and neither begins nor ends with a space.",
  },
  idempotency_key_missing: {
    when: "A withdrawal was asked for without an Idempotency-Key.",
    remedy: "Store an id of the payout first, and send it as the key with every repetition.",
    detail: "Send an Idempotency-Key, and the same one with every repetition: it is what keeps you from paying twice.",
  },
  unauthorized: {
    when: "There is no key or session, or it is forged, unknown, revoked or ended. The answer does not say which.",
    remedy:
      "Send Authorization: Bearer with a key that holds. Make a new one when it was revoked. In a browser, sign in.",
    detail: "Send a valid API key: Authorization: Bearer sk_...",
  },
  forbidden: {
    when:
      "The key lacks the scope, or it asked for the withdrawal that it would approve; or a page of another origin used " +
      "a session, or one of a plain http site signed up.",
    remedy:
      "Use a key with the scope that detail names; for an approval, another key. Call from your servers with a key.",
    detail: "This call needs the scope withdrawals:write; the key has read.",
  },
  not_found: {
    when: "There is no such thing, or it is another tenant's. The answer does not say which.",
    remedy: "Check the id and the path. What was deleted is gone.",
    detail: "There is no such thing here.",
  },
  method_not_allowed: {
    when: "The path exists and does not know this method.",
    remedy: "Use a method of the Allow header.",
    detail: "Expected GET, HEAD, POST, got PUT.",
  },
  address_taken: {
    when: "The address is watched for another tenant.",
    remedy: "Watch an address of your own. It becomes free when the other tenant deletes it.",
    detail: "0xd8da6bf26964af9d7eed9e03e53415d37aa96045 on ethereum is watched for another tenant.",
  },
  symbol_taken: {
    when: "Another asset of the network has this symbol, or the token is listed under another one.",
    remedy: "Choose another symbol, or leave it out for a token that is listed.",
    detail: "USDC already names another asset on ethereum; give this one its own symbol.",
  },
  state_conflict: {
    when: "What was asked for does not go with the present state: detail says why.",
    remedy: "Read the thing, change what is in the way, and ask again.",
    detail: "This key has ended; make a new one instead.",
  },
  illegal_transition: {
    when: "The withdrawal's state has no such step.",
    remedy: "Read the withdrawal. It has moved on; do not repeat the call.",
    detail: "The withdrawal is broadcast_pending. It can be cancelled only before a nonce is assigned to it.",
  },
  payload_too_large: {
    when: "The body is larger than 64 KiB.",
    remedy: "Send less at a time.",
    detail: "The body is larger than 65536 bytes.",
  },
  unsupported_media_type: {
    when: "The body is not sent as application/json in UTF-8, or is compressed.",
    remedy: "Send Content-Type: application/json and no Content-Encoding.",
    detail: "Send JSON with Content-Type: application/json, in UTF-8.",
  },
  invalid_fields: {
    when: "Fields of the body or the query are missing, unknown or do not fit.",
    remedy: "Mend what errors names, path by path.",
    detail: "The body has fields that do not fit.",
  },
  invalid_address: {
    when: "The text is not an address of the network, its checksum does not match, or nobody could use what is sent there.",
    remedy: "Copy the address again, or send it in lower case.",
    detail: "The address is refused: not an address of the evm family.",
  },
  invalid_token: {
    when: "There is no token contract at this address that states its symbol and decimals.",
    remedy: "Check the contract and the network.",
    detail: "The contract does not state its symbol and decimals.",
  },
  unknown_network: {
    when: "The network is unknown here, or off.",
    remedy: "Use an id of GET /v1/networks.",
    detail: 'The network "etherium" is not switched on here.',
  },
  unknown_asset: {
    when: "No asset of the network has this symbol.",
    remedy: "Use a symbol of GET /v1/assets, or list the token first.",
    detail: 'The asset "USDX" is not listed on ethereum.',
  },
  invalid_range: {
    when: "Heights or sequences are the wrong way round, above what was read, or too many.",
    remedy: "Ask for a range that was read already; split one that is too long.",
    detail: "Expected from_height at or below to_height, got 20 and 10.",
  },
  invalid_webhook_target: {
    when: "The URL is not https, has an IP address for a name, or points inside.",
    remedy: "Use a public https URL with a host name.",
    detail: "The target is refused: expected https.",
  },
  insufficient_funds: {
    when: "The account's available balance is smaller than the amount.",
    remedy: "Wait for a deposit of the account, then send the same request with the same key.",
    detail: "12.5 USDC is available, 25.5 was asked for.",
  },
  invalid_destination: {
    when: "The destination is no address, the zero address, the token's own contract or the hot wallet; on Solana also a token account, a mint or a program.",
    remedy: "Ask your customer for another one.",
    detail: "The destination is refused: the zero address belongs to nobody.",
  },
  destination_not_allowed: {
    when: "The destination is not on the allow-list of your policy.",
    remedy: "Put it there with PUT /v1/policies/withdrawals and wait for the cool-down, or pay elsewhere.",
    detail: "0x742d35cc6634c0532925a3b844bc454e4438f44e on ethereum is not on the allow-list.",
  },
  limit_exceeded: {
    when: "The amount is above a limit of your policy, for one withdrawal or for 24 hours.",
    remedy: "Ask for less, wait until the day's limit is free again, or change the policy.",
    detail: "The limit of 5000 USDC for one withdrawal would be exceeded.",
  },
  account_frozen: {
    when: "The account owes for a deposit that was taken back after it had been paid out.",
    remedy: "Wait for a deposit of the account that covers the debt; account.debt_cleared tells of it.",
    detail:
      'The account "customer-17" owes for a deposit that was taken back. It pays nothing out until that is settled.',
  },
  idempotency_key_reused: {
    when: "The Idempotency-Key was sent before with another request. Nothing was changed.",
    remedy: "Send the first request again under this key, or a new key for a new thing.",
    detail: "This Idempotency-Key was used with another request. Nothing was changed.",
  },
  rate_limited: {
    when: "The key, or at sign-up the client's address, made too many requests.",
    remedy: "Wait as long as Retry-After says. RateLimit tells beforehand how many are left.",
    detail: "This key made 6000 requests in 60 s.",
  },
  internal_error: {
    when: "Something is broken in the service. It was logged under request_id.",
    remedy:
      "Repeat the request with the same Idempotency-Key: nobody knows whether the first one was done. Report request_id.",
    detail: "Something is broken here. It was logged under the request_id.",
  },
  store_unavailable: {
    when: "What keeps your data is out of reach, or the service is not set up.",
    remedy: "Repeat the same request with the same Idempotency-Key after Retry-After.",
    detail: "What keeps your data is out of reach. Try again.",
  },
  chain_unavailable: {
    when: "No node of the network answers.",
    remedy: "Repeat the same request with the same Idempotency-Key after Retry-After.",
    detail: "The height of ethereum cannot be learned now: no node is configured.",
  },
};
