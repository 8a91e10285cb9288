/** API keys: which there are, what each may do, and how they begin and end. */

import { useState } from "react";
import type { ApiKey } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty, Notice } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { SecretDialog } from "../design/dialog.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { Badge, State, Time } from "../design/text.tsx";
import { useMay, useSession } from "../session.ts";
import { RevokeConfirm, RotateDialog } from "./api-keys/endings.tsx";
import { keyStatus } from "./api-keys/keys.ts";
import { NewKeyDialog } from "./api-keys/new-key.tsx";

type Asked = { readonly what: "rotate" | "revoke"; readonly key: ApiKey } | null;

export function ApiKeysPage() {
  const mayAdmin = useMay("admin");
  return mayAdmin ? (
    <Keys />
  ) : (
    <>
      <PageHead title="API keys" />
      <Notice tone="info" title="Not with this key">
        API keys are seen and made with a key that has the scope admin.
      </Notice>
    </>
  );
}

function Keys() {
  const own = useSession().api_key.id;
  const [making, setMaking] = useState(false);
  const [asked, setAsked] = useState<Asked>(null);
  // Here alone, and only while it is shown.
  const [secret, setSecret] = useState<string | null>(null);
  const rows = useRows(["keys"], () => sluice.apiKeys.list());
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          <Button look="main" onClick={() => setMaking(true)}>
            Create a key
          </Button>
        }
      >
        One for each program, with no more scopes than it needs.
      </PageHead>
      <Card flush>
        <PagedTable
          label="API keys"
          rows={rows}
          columns={columnsOf(own, setAsked)}
          keyOf={(row) => row.id}
          empty={<Empty title="No keys" />}
        />
      </Card>
      <NewKeyDialog
        open={making}
        onClose={() => setMaking(false)}
        onMade={(made) => {
          setMaking(false);
          setSecret(made);
        }}
      />
      <RotateDialog
        of={asked?.what === "rotate" ? asked.key : null}
        isOwn={asked?.key.id === own}
        onClose={() => setAsked(null)}
        onMade={(made) => {
          setAsked(null);
          setSecret(made);
        }}
      />
      <RevokeConfirm
        of={asked?.what === "revoke" ? asked.key : null}
        isOwn={asked?.key.id === own}
        onClose={() => setAsked(null)}
      />
      <SecretDialog title="The new key" secret={secret} onClose={() => setSecret(null)}>
        <p>It is shown once. Store it where your program's secrets are, before you close this.</p>
      </SecretDialog>
    </>
  );
}

function columnsOf(own: string, onAsked: (asked: Asked) => void): readonly Column<ApiKey>[] {
  return [
    {
      name: "Name",
      cell: (row) => (
        <span className="row" style={{ gap: 6 }}>
          <span className="break">{row.name}</span>
          {row.id === own ? <Badge tone="info">this session</Badge> : null}
        </span>
      ),
    },
    {
      name: "Scopes",
      cell: (row) => <span className="mono break">{row.scopes.join(", ")}</span>,
    },
    { name: "Status", cell: (row) => <State of={keyStatus(row, Date.now())} /> },
    { name: "Created", cell: (row) => <Time at={row.created_at} /> },
    {
      name: "Ends",
      cell: (row) => <Time at={row.revoked_at ?? row.expires_at} />,
    },
    {
      name: "Actions",
      cell: (row) =>
        keyStatus(row, Date.now()) === "active" ? (
          <span className="row" style={{ flexWrap: "nowrap" }}>
            <Button small aria-label={`Rotate ${row.name}`} onClick={() => onAsked({ what: "rotate", key: row })}>
              Rotate
            </Button>
            <Button small aria-label={`Revoke ${row.name}`} onClick={() => onAsked({ what: "revoke", key: row })}>
              Revoke
            </Button>
          </span>
        ) : (
          <span className="quiet">none</span>
        ),
    },
  ];
}
