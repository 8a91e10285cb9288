/** What was made with an endpoint: a secret that is shown once, or a public key that stays to be seen. */

import { Notice } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog, SecretDialog } from "../../design/dialog.tsx";
import { Copy } from "../../design/text.tsx";
import type { MadeSecret } from "./receiver.ts";

export function MadeDialog({ made, onClose }: { readonly made: MadeSecret | null; readonly onClose: () => void }) {
  const publicKey = made?.endpoint.signature === "v1a" ? made.endpoint.public_key : null;
  return (
    <>
      <SecretDialog title="The endpoint's secret" secret={made?.secret ?? null} onClose={onClose}>
        <p>
          It is shown once. Your receiver verifies each delivery with it: store it where that one reads its secrets.
        </p>
        <AtReceiver made={made} />
      </SecretDialog>
      <Dialog title="The endpoint's public key" open={publicKey !== null} onClose={onClose}>
        <p>Your receiver verifies each delivery with it. It is no secret, and stays to be seen at the endpoint.</p>
        <output className="code" aria-label="Public key">
          {publicKey}
        </output>
        <AtReceiver made={made} />
        <div className="dialog-actions">
          <Copy text={publicKey ?? ""} label="public key" />
          <Button look="main" onClick={onClose}>
            Go on
          </Button>
        </div>
      </Dialog>
      <Dialog
        title="The secret was lost"
        open={made !== null && made.secret === null && publicKey === null}
        onClose={onClose}
      >
        <Notice tone="warn" title="It was made, and the answer that had its secret was lost">
          A secret is told once. Rotate it to get another one.
        </Notice>
        <div className="dialog-actions">
          <Button look="main" onClick={onClose}>
            Go on
          </Button>
        </div>
      </Dialog>
    </>
  );
}

function AtReceiver({ made }: { readonly made: MadeSecret | null }) {
  const receiver = made?.receiver ?? null;
  if (receiver === null) return null;
  return receiver === "has it" ? (
    <Notice tone="good">The built-in receiver has it already, and verifies with it.</Notice>
  ) : (
    <Notice tone="bad" title="The built-in receiver did not take it">
      {receiver.problem}
    </Notice>
  );
}
