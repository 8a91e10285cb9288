/** What a schema found wrong with a request, as a refusal with one line per field. */

import type { ZodError } from "zod";
import type { FieldError, Refusal } from "../core/refusal.ts";
import { NOT_FOUND } from "./problem.ts";

const MAX_ERRORS = 20;
const MAX_NAME_CHARS = 100;

type Target = "param" | "query" | "json" | "header" | "cookie" | "form";

/**
 * A path that cannot name anything is simply unknown (404). A cursor that cannot be one is a bad cursor
 * (400). Everything else does not fit (422).
 */
export function refusalOfFields(target: Target, error: ZodError): Refusal {
  if (target === "param") return NOT_FOUND;
  const errors = fieldErrors(error);
  if (target === "query" && errors.every(({ path }) => path === "cursor")) {
    return { code: "invalid_cursor", detail: "Pass a next_cursor of this list as it came." };
  }
  const where = target === "query" ? "query" : "body";
  return { code: "invalid_fields", detail: `The ${where} has fields that do not fit.`, errors };
}

export function fieldErrors(error: ZodError): FieldError[] {
  const errors = error.issues.flatMap((issue): FieldError[] => {
    const path = issue.path.map((part) => String(part).slice(0, MAX_NAME_CHARS));
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: [...path, key.slice(0, MAX_NAME_CHARS)].join("."),
        message: "unknown field",
      }));
    }
    return [{ path: path.join("."), message: issue.message }];
  });
  return errors.slice(0, MAX_ERRORS);
}
