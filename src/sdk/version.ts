/** The SDK's own version, as `package.json` beside this file has it. */

export const VERSION = "0.1.0";
