// The hotline's planner: from what a caller says, and what is remembered of them, to the action that the social insurance
// is to carry out. The protocol is that of ../polyglot/planner.mjs.
//
//     node planner.mjs --port 8104

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serve } from "../polyglot/planner.mjs";

const ACTIONS = [
  ["pension", /\bpension\b|\bretire/i],
  ["sick-pay", /\bsick\b|\bill\b/i],
  ["months", /\bmonths?\b.*\bpaid\b|\bpaid\b.*\bmonths?\b|\bcontribut/i],
];
const AHEAD = /\bin (\d{1,2}) (year|month)s?\b/i;
const MOST_MONTHS = 600;

function planned(words, past) {
  const action = ACTIONS.find(([, asked]) => asked.test(words))?.[0];
  const number = /\b\d{10}\b/.exec(words)?.[0] ?? past.findLast((note) => note.number)?.number;
  if (!action) return { say: "I can tell you about your pension, your sick pay, and the months you have paid for." };
  if (!number) return { say: "What is your insurance number, please? It has ten digits." };
  const [, count, unit] = AHEAD.exec(words) ?? [null, 0, "month"];
  const months = Math.min(MOST_MONTHS, Number(count) * (unit.toLowerCase() === "year" ? 12 : 1));
  return { executeAction: { action, input: { number, months } } };
}

const note = { type: "object", properties: { number: { type: "string" } } };
const hotline = {
  card: {
    name: "hotline", version: "0.1.0", kind: "node",
    digest: createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url))).digest("hex").slice(0, 32),
    input: { type: "object", required: ["words", "past"],
      properties: { words: { type: "string" }, past: { type: "array", items: note } } },
    output: { type: "object", additionalProperties: false, required: ["say"], properties: {
      say: { type: ["string", "null"] },
      execute_action: { type: ["object", "null"], required: ["action", "input"], properties: {
        action: { enum: ACTIONS.map(([action]) => action) },
        input: { type: "object", required: ["number", "months"],
          properties: { number: { type: "string" }, months: { type: "integer" } } } } } } },
    effects: { "*": "pure" }, verbs: ["plan"],
    description: "Plans what the social insurance is asked for a caller.",
  },
  check: ({ words, past }) => [
    ...(typeof words === "string" ? [] : [{ pointer: "/words", message: "is no string" }]),
    ...(Array.isArray(past) && past.every((each) => each && typeof each === "object") ? []
      : [{ pointer: "/past", message: "is no list of objects" }]),
  ],
  answer({ words, past }) {
    const { say = null, executeAction } = planned(words, past);
    // the action stands beside the output, where the protocol has a place for it
    return executeAction ? { output: { say }, executeAction } : { output: { say, execute_action: null } };
  },
};

const { values } = parseArgs({ options: { port: { type: "string", default: "8104" } } });
serve(hotline, Number(values.port));
