/** Tabs: parts of one page of which one is shown. */

import { Tabs as BaseTabs } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export interface Tab {
  readonly value: string;
  readonly name: string;
  readonly children: ReactNode;
}

export function Tabs({
  label,
  value,
  onChange,
  tabs,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly tabs: readonly Tab[];
}) {
  return (
    <BaseTabs.Root className="stack" value={value} onValueChange={(next) => onChange(String(next))}>
      <BaseTabs.List className="tabs-list" aria-label={label}>
        {tabs.map((tab) => (
          <BaseTabs.Tab key={tab.value} value={tab.value} className="tab">
            {tab.name}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map((tab) => (
        <BaseTabs.Panel key={tab.value} value={tab.value} className="stack">
          {tab.children}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  );
}
