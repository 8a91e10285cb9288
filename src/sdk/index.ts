/** What the package offers. */

export { type AuditHead, type AuditVerdict, auditGenesis, auditHash, verifyAuditLog } from "./audit-log.ts";
export type { Answered, AnswerInfo, Call } from "./call.ts";
export { Sluice, type SluiceOptions } from "./client.ts";
export {
  AbortedError,
  type AnswerCode,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  type FieldProblem,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  type RefusalReason,
  ServerError,
  SluiceError,
  TimeoutError,
  UnexpectedAnswerError,
  WebhookVerificationError,
} from "./errors.ts";
export { type EventFeed, Inbox, type InboxOptions, type Received } from "./inbox.ts";
export {
  type D1Like,
  type D1Statement,
  d1Storage,
  INBOX_SCHEMA,
  type InboxStorage,
  type Mark,
  type MarkChange,
  memoryStorage,
  type SqliteDatabase,
  sqliteStorage,
} from "./inbox-storage.ts";
export type { List } from "./pages.ts";
export type { AbortSignalLike, Fetch, FetchAnswer, FetchInit } from "./platform.ts";
export type { FollowOptions } from "./resources/events.ts";
export type { WithdrawalOptions } from "./resources/payouts.ts";
export type { CallOptions, PostOptions } from "./transport.ts";
export type * from "./types.ts";
export { VERSION } from "./version.ts";
export { type VerifyOptions, type WebhookHeaders, Webhooks } from "./webhooks.ts";
