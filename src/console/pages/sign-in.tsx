/**
 * Signing in with an API key, or signing up for one. The key goes to the service once, in exchange for the session's
 * cookie; it is kept nowhere in the browser.
 */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Sluice } from "../../sdk/client.ts";
import { AuthenticationError } from "../../sdk/errors.ts";
import type { Session } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Notice } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { Form, TextField } from "../design/form.tsx";
import { Card, PageHead } from "../design/layout.tsx";

async function signIn(apiKey: string): Promise<Session> {
  return await new Sluice({ apiKey, baseUrl: location.origin }).session.create();
}

export function SignInPage({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }) {
  const [made, setMade] = useState<string | null>(null);
  return (
    <main className="welcome">
      <div className="stack">
        <span className="brand">
          <img src="/icon.svg" alt="" />
          Sluice
        </span>
        {made === null ? (
          <>
            <KeyForm onSignedIn={onSignedIn} />
            <SignUpForm onMade={setMade} />
          </>
        ) : (
          <FirstKey secret={made} onSignedIn={onSignedIn} />
        )}
      </div>
    </main>
  );
}

function KeyForm({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }) {
  const [key, setKey] = useState("");
  const enter = useMutation({ mutationFn: signIn, onSuccess: onSignedIn });
  // The service speaks of headers here, to programs.
  const unknown = enter.error instanceof AuthenticationError ? enter.error : null;
  return (
    <Card>
      <div className="stack">
        <PageHead title="Sign in">With one of your API keys.</PageHead>
        <Form
          label="Sign in"
          error={unknown === null ? enter.error : null}
          fields={[]}
          onSubmit={() => enter.mutate(key.trim())}
          actions={
            <Button look="main" type="submit" busy={enter.isPending} disabled={key.trim() === ""}>
              Sign in
            </Button>
          }
        >
          <TextField
            label="API key"
            name="api_key"
            type="password"
            mono
            value={key}
            onChange={setKey}
            placeholder="sk_…"
          />
          {unknown ? (
            <div role="alert">
              <Notice tone="bad" title="The service does not take this key">
                <span>It is mistyped, revoked or expired, or it belongs to another service.</span>
                {unknown.requestId === null ? null : <span className="small quiet">Request {unknown.requestId}</span>}
              </Notice>
            </div>
          ) : null}
        </Form>
      </div>
    </Card>
  );
}

function SignUpForm({ onMade }: { readonly onMade: (secret: string) => void }) {
  const [name, setName] = useState("");
  const join = useMutation({
    mutationFn: async () => await sluice.tenants.create({ name: name.trim() }),
    onSuccess: ({ api_key }) => onMade(api_key.secret ?? ""),
  });
  return (
    <Card title="New here?">
      <Form
        label="Sign up"
        error={join.error}
        fields={["name"]}
        onSubmit={() => join.mutate()}
        actions={
          <Button type="submit" busy={join.isPending} disabled={name.trim() === ""}>
            Sign up
          </Button>
        }
      >
        <TextField label="Name of your business" name="name" error={join.error} value={name} onChange={setName} />
      </Form>
    </Card>
  );
}

function FirstKey({
  secret,
  onSignedIn,
}: {
  readonly secret: string;
  readonly onSignedIn: (session: Session) => void;
}) {
  const enter = useMutation({ mutationFn: signIn, onSuccess: onSignedIn });
  return (
    <Card>
      <div className="stack">
        <PageHead title="Your API key">It is shown once. Store it where you keep your secrets.</PageHead>
        <output className="code" aria-label="API key">
          {secret}
        </output>
        {enter.error ? <Notice tone="bad" title={enter.error.message} /> : null}
        <div className="dialog-actions">
          <Button onClick={() => void navigator.clipboard.writeText(secret)}>Copy it</Button>
          <Button look="main" busy={enter.isPending} onClick={() => enter.mutate(secret)}>
            I have stored it, open the console
          </Button>
        </div>
      </div>
    </Card>
  );
}
