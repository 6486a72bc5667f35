// The planner of the retail workflow as a component in Node: chooses the next action by weights that Stretto learnt.
// One file, Node's own modules only:
//
//     node planner.mjs --weights planner.safetensors --port 8102 [--sample]
//
// The first half is the component; the second is the protocol (docs/reference/protocol.md): import `serve`, or copy it,
// for a component of your own.

import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

// ---------------------------------------------------------------------------------------------------- the component
// As Stretto's own kind `policy`, features · weights + prior; of what is available it takes the likeliest, or with
// --sample draws one. What it chose, and how probably, it tells beside its output: the run that asked learns from that.

/** A checkpoint of `stretto train`: what its weights mean, and a row of them for each feature that was learnt. */
function readCheckpoint(path) {
  const file = readFileSync(path);
  const headEnd = 8 + Number(file.readBigUInt64LE(0)); // safetensors: the head's length, the head, then the numbers
  const head = JSON.parse(file.toString("utf8", 8, headEnd));
  const policy = JSON.parse(head.__metadata__.stretto);
  const { encoding, text, state, about } = policy.features;
  const seen = String([encoding, text, state, about]);
  if (seen !== "hashed-1,words,state,about") throw new Error(`${path} is of another planner: its features are ${seen}`);
  const numbers = ({ data_offsets: [from, to] }) => file.subarray(headEnd + from, headEnd + to);
  const [buckets, values] = [numbers(head.rows), numbers(head.values)];
  const columns = policy.alternatives.length + 1; // the last is for what is told of any alternative
  const rows = new Map();
  for (let i = 0; i < buckets.length / 8; i++) {
    const row = Array.from({ length: columns }, (_, k) => values.readDoubleLE(8 * (i * columns + k)));
    rows.set(Number(buckets.readBigInt64LE(8 * i)), row);
  }
  const program = readFileSync(fileURLToPath(import.meta.url)); // what decides the answers: a run is pinned to it
  const digest = sha256(program, file).toString("hex").slice(0, 32);
  const meaning = Buffer.from(head.__metadata__.stretto);
  return { ...policy, rows, digest, weights: sha256(meaning, "\0", buckets, "\0", values).toString("hex") };
}

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** CRC-32, which Node's zlib has from 20.15 on. */
const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(text, start = 0) {
  let crc = ~start;
  for (const byte of Buffer.from(text)) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** N-grams of a text's words, in which every digit is a 0: that an order is named counts, not which. */
function grams(name, text, ngrams) {
  const found = text.toLowerCase().replace(/[1-9]/g, "0").match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = found.map((word) => `${word} `);
  const hashes = [];
  let last = words.map(() => crc32(`${name}~`));
  for (let n = 1; n <= Math.max(...ngrams); n++) {
    last = words.slice(n - 1).map((word, i) => crc32(word, last[i]));
    if (ngrams.includes(n)) hashes.push(...last);
  }
  return hashes;
}

const isSmall = (value) => Number.isInteger(value) && Math.abs(value) <= 16; // larger ones are told apart by size only
const isFact = (value) => isObject(value) ? Object.values(value).every(isFact)
  : value === null || ["string", "boolean"].includes(typeof value) || isSmall(value);

/** One hash for each fact of a value, as Python writes it: `state.customer=profile`, `state.orders:3`, `x.y:True`. */
function facts(path, value) {
  if (isObject(value)) return Object.entries(value).flatMap(([name, each]) => facts(`${path}.${name}`, each));
  if (typeof value === "string") return [crc32(`${path}=${value}`)];
  return [crc32(`${path}:${{ true: "True", false: "False", null: "None" }[value] ?? value}`)];
}

/** How much speaks for each alternative. */
function logits({ alternatives, prior, features, rows }, { words, state, about }) {
  const bucketsOf = (hashes) => [...new Set(hashes.map((hash) => 1 + (hash % (features.buckets - 1))))];
  const seen = new Map([[0, 1]]); // bucket 0 is always on
  const see = (buckets, value) => buckets.forEach((each) => seen.set(each, (seen.get(each) ?? 0) + value));
  const text = bucketsOf(grams("words", words, features.ngrams));
  see(text, features.text_scale / Math.sqrt(text.length || 1)); // a long text weighs no more than a short one
  see(bucketsOf(facts("state", state)), 1);
  return alternatives.map((alternative, k) => {
    let logit = prior[k];
    for (const [bucket, value] of seen) logit += value * (rows.get(bucket)?.[k] ?? 0);
    for (const bucket of alternative in about ? bucketsOf(facts("about", about[alternative])) : [])
      logit += features.about_scale * (rows.get(bucket)?.at(-1) ?? 0);
    return logit;
  });
}

/** A number of [0, 1) that hangs on the run's seed and the step's place alone: every attempt draws the same. */
const drawn = (envelope) =>
  Number(sha256(`${field(envelope, "seed") ?? 0}/${field(envelope, "stepPath")}`).readBigUInt64LE() >> 11n) / 2 ** 53;

function choose(policy, input, envelope, samples) {
  const { alternatives } = policy;
  const available = alternatives.map((each) => input.available.includes(each));
  const worth = logits(policy, input).map((logit, k) => (available[k] ? logit : -Infinity));
  const best = worth.reduce((top, logit, k) => (logit > worth[top] ? k : top), available.indexOf(true));
  const shares = worth.map((logit) => Math.exp(logit - worth[best]));
  const all = shares.reduce((sum, share) => sum + share);
  let left = drawn(envelope) * all;
  const chosen = samples ? shares.findIndex((share) => (left -= share) < 0) : best;
  const [action, confidence] = [alternatives[chosen], shares[chosen] / all];
  const choice = { name: "action", chosen: action, support: alternatives, logprob: Math.log(confidence),
    propensity: samples ? confidence : 1, policy: policy.weights, forced: available.filter(Boolean).length === 1 };
  return { output: { action, confidence }, actions: [available.every(Boolean) ? choice : { ...choice, available }] };
}

const listed = (values, value) => Array.isArray(values) && values.includes(value);

/** What `serve` serves: a card, what is wrong with an input, and the answer to it. */
function planner(policy, samples) {
  const action = { enum: policy.alternatives };
  const properties = { words: { type: "string" }, state: { type: "object" }, about: { type: "object" },
    available: { type: "array", items: action, minItems: 1 } };
  const checks = [
    ["/words", "is no string", ({ words }) => typeof words === "string"],
    ["/state", "is no object of texts and small whole numbers", ({ state }) => isObject(state) && isFact(state)],
    ["/about", "is no object of texts and small whole numbers", ({ about }) => isObject(about) && isFact(about)],
    ["/available", "names no action", ({ available }) => policy.alternatives.some((each) => listed(available, each))],
  ];
  return {
    card: {
      name: "planner", version: "0.3.0", kind: "node", digest: policy.digest + (samples ? "-sampling" : ""),
      verbs: ["plan"], capabilities: ["actions"], effects: { "*": "pure" },
      description: `Chooses one of ${policy.alternatives.length} actions by weights that Stretto learnt.`,
      input: { type: "object", required: Object.keys(properties), properties },
      output: { type: "object", additionalProperties: false, required: ["action", "confidence"],
        properties: { action, confidence: { type: "number", minimum: 0, maximum: 1 } } },
    },
    check: (input) => checks.filter(([, , fits]) => !fits(input)).map(([pointer, message]) => ({ pointer, message })),
    answer: (input, envelope) => choose(policy, input, envelope, samples),
  };
}

// ----------------------------------------------------------------------------------------------------- the protocol

const MAX_BODY = 1 << 20; // bytes
const BODY_MS = 5000; // in which a request must have come
const STATUSES = { invalid_argument: 400, failed_precondition: 400, not_found: 404, internal: 500, unimplemented: 501,
  deadline_exceeded: 504 };

/** Why a call is not answered: a google.rpc code, a reason of the protocol, words for people, more for programs. */
export class Refusal extends Error {
  constructor(code, reason, detail, more = {}) {
    super(detail);
    const status = STATUSES[code]; // a problem document, RFC 9457
    this.problem = { type: `urn:acp:${code}`, title: code, status, detail, code, reason, domain: "acp", ...more };
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of a message by its JSON name, or by its name in the proto. What is not known is passed over. */
const field = (message, name) =>
  message?.[name] ?? message?.[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

async function read(request) {
  const [media] = (request.headers["content-type"] ?? "").split(";");
  if (media.trim().toLowerCase() !== "application/json")
    throw new Refusal("invalid_argument", "MEDIA_TYPE", `Content-Type is '${media}'; expected application/json`);
  const parts = [];
  let size = 0;
  for await (const part of request) if ((size += part.length) <= MAX_BODY) parts.push(part); // ends by BODY_MS
  if (size > MAX_BODY) throw new Refusal("invalid_argument", "TOO_LARGE", `the body is above ${MAX_BODY} bytes`);
  return parsed(() => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)));
}

function parsed(text) {
  try {
    const value = JSON.parse(text());
    if (isObject(value)) return value;
  } catch {} // is refused as well
  throw new Refusal("invalid_argument", "MALFORMED", "it is no JSON object in UTF-8");
}

function checkWhom(card, protocol, component) {
  if (!/^\d+\.\d+$/.test(protocol))
    throw new Refusal("invalid_argument", "ENVELOPE", `/envelope/protocol is '${protocol}'; expected such as 1.0`);
  if (!protocol.startsWith("1.")) // any minor version is answered
    throw new Refusal("failed_precondition", "VERSION_UNSUPPORTED", `protocol ${protocol} is not spoken here; 1.0 is`,
      { metadata: { supported_versions: "1.0" } });
  if (component && component !== card.name)
    throw new Refusal("not_found", "COMPONENT_UNKNOWN", `there is no '${component}' here; there is ${card.name}`);
}

/** Refuses what is missing or absurd in an envelope, before anything of the input is looked at. */
function checkEnvelope(card, envelope) {
  const { component, attempt } = envelope;
  checkWhom(card, String(envelope.protocol), component?.name);
  if (!field(envelope, "runId") || !field(envelope, "stepPath") || !(Number(attempt) >= 1))
    throw new Refusal("invalid_argument", "ENVELOPE", "/envelope needs a runId, a stepPath, an attempt of 1 or more");
  if (component?.digest && component.digest !== card.digest)
    throw new Refusal("failed_precondition", "COMPONENT_CHANGED", `it is ${card.digest} here; the run has another`);
  if (!(Number(field(envelope, "remainingMs") ?? 1) > 0)) // absent is no deadline
    throw new Refusal("deadline_exceeded", "DEADLINE_PASSED", "no time is left by /envelope/remainingMs",
      { metadata: { sent: "no" } }); // nothing was done
}

async function call({ card, check, answer }, request) {
  const arrived = performance.now();
  const message = await read(request);
  checkEnvelope(card, isObject(message.envelope) ? message.envelope : {});
  if (field(message, "confirmOnly"))
    throw new Refusal("unimplemented", "VERB_NOT_OFFERED", "nothing is changed here, so there is nothing to confirm");
  const text = field(message, "inputJson"); // the same as text
  const input = text ? parsed(() => text) : message.input ?? {};
  const violations = isObject(input) ? check(input) : [{ pointer: "", message: "is no object" }];
  if (violations.length) {
    const detail = violations.map(({ pointer, message }) => `the input's ${pointer} ${message}`).join("; ");
    throw new Refusal("invalid_argument", "CONTRACT", detail, { violations });
  }
  const { output, ...beside } = answer(input); // an { executeAction } beside it where a plan has one
  const { name, version, digest } = card;
  const serviceMs = performance.now() - arrived;
  const told = text ? { outputJson: JSON.stringify(output) } : { output }; // in the form in which it was asked
  return { result: { outcome: "ok", serviceMs, component: { name, version, digest } }, ...told, ...beside };
}

async function answered(component, request) {
  const { card } = component;
  const { method } = request;
  const [path] = request.url.split("?");
  if (path === "/livez" || path === "/readyz") return { status: "ok" }; // about to stop, it takes no connection
  if (path === "/acp/v1/describe") { // people ask by GET, and without a version
    const asked = method === "POST" ? await read(request) : {};
    checkWhom(card, asked.protocol || "1.0", asked.component);
    return { protocols: ["1.0"], cards: [{ ...card, maxRequestBytes: MAX_BODY }] };
  }
  if (path === `/acp/v1/${card.verbs[0]}` && method === "POST") return call(component, request);
  const offered = `POST /acp/v1/${card.verbs[0]} is offered, not ${method} ${path}`;
  if (path.startsWith("/acp/v1/")) throw new Refusal("unimplemented", "VERB_NOT_OFFERED", offered);
  throw new Refusal("not_found", "", offered);
}

/** Serve a component: its `card`, `check(input)` → violations, and `answer(input, envelope)` → `{ output }`. */
export function serve(component, port) {
  const times = { headersTimeout: BODY_MS, requestTimeout: BODY_MS, connectionsCheckingInterval: 500 };
  const server = createServer({ ...times, keepAliveTimeout: 120_000 }, async (request, response) => {
    const reply = await answered(component, request).catch((error) => // nothing of the inside belongs on the wire
      error instanceof Refusal ? error : new Refusal("internal", "", "it failed on this request"));
    const [status, media, body] = reply instanceof Refusal
      ? [reply.problem.status, "application/problem+json", reply.problem] : [200, "application/json", reply];
    response.writeHead(status, { "Content-Type": media }).end(JSON.stringify(body));
  });
  server.on("clientError", (_, socket) => socket.destroy()); // a request that stopped half-way, or is no HTTP
  server.listen(port, "127.0.0.1", () =>
    console.log(`${component.card.name} listens at http://127.0.0.1:${server.address().port}`));
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => { // what is being answered is answered
      server.close();
      server.closeIdleConnections();
    });
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const options = { port: { type: "string" }, weights: { type: "string" }, sample: { type: "boolean" } };
  const { port, weights, sample } = parseArgs({ options }).values;
  serve(planner(readCheckpoint(weights ?? "planner.safetensors"), sample), Number(port ?? 8102));
}
