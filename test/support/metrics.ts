/**
 * Prometheus' text format 0.0.4, read as strictly as it is written down: HELP and TYPE once for each family and before
 * its samples, the samples of a family together, no series twice, and the names of the guide for instrumentation.
 */

export interface Sample {
  readonly type: string;
  readonly value: number;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const HELP = new RegExp(`^# HELP (${NAME}) (\\S.*)$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?[0-9][0-9.e+-]*)$`);
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/;

/** By the series as it is written. @throws Error for whatever is not the format */
export function parseMetrics(text: string): Map<string, Sample> {
  const samples = new Map<string, Sample>();
  const families = new Set<string>();
  let family = { name: "", type: null as string | null };
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line does not end");
  for (const line of text.split("\n").slice(0, -1)) {
    const help = HELP.exec(line);
    const type = TYPE.exec(line);
    if (help?.[1] !== undefined) {
      if (families.has(help[1])) throw new Error(`${help[1]} begins twice`);
      families.add(help[1]);
      family = { name: help[1], type: null };
    } else if (type?.[1] !== undefined && type[2] !== undefined) {
      if (family.name !== type[1] || family.type !== null) throw new Error(`TYPE out of place: ${line}`);
      family = { name: type[1], type: type[2] };
      checkName(type[1], type[2]);
    } else {
      const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`);
      if (family.type === null || family.name !== name) throw new Error(`out of its family: ${line}`);
      checkLabels(labels, line);
      const series = line.slice(0, line.lastIndexOf(" "));
      if (samples.has(series)) throw new Error(`twice: ${series}`);
      if (!Number.isFinite(Number(value))) throw new Error(`no number: ${line}`);
      samples.set(series, { type: family.type, value: Number(value) });
    }
  }
  return samples;
}

/** https://prometheus.io/docs/practices/naming/ */
function checkName(name: string, type: string): void {
  if (!/^sluice_[a-z0-9_]+$/.test(name)) throw new Error(`${name} is no name of ours`);
  if ((type === "counter") !== name.endsWith("_total")) throw new Error(`${name} is a ${type}`);
  if (/_(ms|millis|milliseconds|minutes|hours|kb|percent)(_|$)/.test(name))
    throw new Error(`${name} is in no base unit`);
}

function checkLabels(labels: string, line: string): void {
  const names = new Set<string>();
  for (let rest = labels; rest !== ""; ) {
    const match = LABEL.exec(rest);
    if (match?.[1] === undefined) throw new Error(`bad labels: ${line}`);
    if (names.has(match[1]) || /^(__|tenant|account|address)/.test(match[1])) throw new Error(`bad label: ${line}`);
    names.add(match[1]);
    rest = rest.slice(match[0].length);
  }
}
