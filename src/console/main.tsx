/** Where the page begins. */

import "./design/tokens.css";
import "./design/base.css";
import "./design/parts.css";
import "./design/shell.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HashRouter } from "react-router";
import { App } from "./app.tsx";
import { Toasts } from "./design/toasts.tsx";
import { applyTheme } from "./theme.tsx";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    {/* The policy of this page allows no style elements, and none are needed. */}
    <CSPProvider disableStyleElements>
      <Toasts>
        <HashRouter>
          <App />
        </HashRouter>
      </Toasts>
    </CSPProvider>
  </StrictMode>,
);
