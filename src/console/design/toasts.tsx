/** Short messages that something was done. What failed is told where it was asked for, not here. */

import { Toast } from "@base-ui/react/toast";
import type { ReactNode } from "react";

export function Toasts({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider timeout={4_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Title render={<div />} />
    </Toast.Root>
  ));
}

/** @returns shows a sentence for some seconds */
export function useToast(): (sentence: string) => void {
  const manager = Toast.useToastManager();
  return (sentence) => {
    manager.add({ title: sentence });
  };
}
