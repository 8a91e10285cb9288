/** Light, dark, or as the system has it. The browser keeps the choice. */

import { useState } from "react";
import { Button } from "./design/button.tsx";

const KEY = "sluice-theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";
  } catch {
    // Storage is off.
    return "system";
  }
}

/** Before the first picture. */
export function applyTheme(theme: Theme = kept()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState(kept);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <Button
      small
      onClick={() => {
        try {
          localStorage.setItem(KEY, next);
        } catch {}
        applyTheme(next);
        setTheme(next);
      }}
    >
      Theme: {theme}
    </Button>
  );
}
