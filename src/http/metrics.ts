/** Prometheus text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/ */

import { FIGURES, type Figure } from "../core/figures.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The catalogue's order; a figure that nobody told of is left out. */
export function metricsText(figures: readonly Figure[]): string {
  const byName = Map.groupBy(figures, ({ name }) => name);
  return Object.entries(FIGURES)
    .map(([name, { type, help }]) => {
      const lines = (byName.get(name) ?? []).map(sample);
      if (lines.length === 0) return "";
      return `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    })
    .join("");
}

function sample({ name, labels, value }: Figure): string {
  const pairs = Object.entries(labels).map(([label, of]) => `${label}="${escapeText(of).replaceAll('"', '\\"')}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
