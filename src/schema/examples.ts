/**
 * Ids and names that examples share, so that one example leads to the next; they name nothing that exists. A
 * schema carries its own example, and a test holds each against it.
 */

export const EXAMPLE = {
  tenant: "ten_01k5q8x2m3n4p5q6r7s8t9v0wx",
  key: "key_01k5q8x2m3c7d8e9f0g1h2j3k4",
  address: "addr_01k5q8z7a1b2c3d4e5f6g7h8j9",
  xpub: "xpub_01k5q8y5c6d7e8f9g0h1j2k3m4",
  deposit: "dep_01k5q92r4s5t6v7w8x9y0z1a2b",
  withdrawal: "wd_01k5q95c6d7e8f9g0h1j2k3m4n",
  event: "evt_01k5q93p5q6r7s8t9v0w1x2y3z",
  endpoint: "we_01k5q90b3c4d5e6f7g8h9j0k1m",
  delivery: "del_01k5q93t7v8w9x0y1z2a3b4c5d",
  backfill: "bf_01k5q97m8n9p0q1r2s3t4v5w6x",
  journal: "jrn_01k5q93f1g2h3j4k5m6n7p8q9r",
  entry: "le_01k5q93f9g8h7j6k5m4n3p2q1r",
  incident: "inc_01k5q94k3m4n5p6q7r8s9t0v1w",
  report: "rec_01k5q98y1z2a3b4c5d6e7f8g9h",
  request: "req_01k5q99j2k3m4n5p6q7r8s9t0v",
  secret: "sk_...",
  sessionCookie: "__Host-sluice=ses_...; Max-Age=43200; Path=/; HttpOnly; Secure; SameSite=Strict",
  webhookSecret: "whsec_...",
  account: "customer-17",
  watched: "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
  destination: "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
  wallet: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  contract: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
  tx: "0x9c1f0e3b5a7d2c4e6f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6",
  paymentTx: "0x4be1c7a09d3f5e7b8a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a",
  block: "0x1db7c3a5e9f8d2b4c6a8e0f1d3b5c7a9e1f3d5b7c9a0e2f4d6b8c0a1e3f5d7b9",
} as const;
