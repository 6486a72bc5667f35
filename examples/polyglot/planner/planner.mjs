// The planner of the retail example as a component in Node, behind the protocol over HTTP. Node's own modules only.
//
//     node planner.mjs --port 8102 [--weights planner.safetensors]
//
// It reads the checkpoints that `stretto train` and `stretto demo` write, and chooses as Stretto's own kind `policy`
// does: the same features, the same probabilities, and for the same run and step the same draw.

import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MAX_BODY = 4 << 20; // bytes
const MAX_THROWN = 128 << 20; // bytes of a body that is too large which are read and thrown away, so that it can be said
const BODY_MS = 5000; // in which a request must have been sent

// ---------------------------------------------------------------------------------------------------------- the protocol

const STATUSES = {
  invalid_argument: 400, failed_precondition: 400, not_found: 404, unimplemented: 501, internal: 500,
  deadline_exceeded: 504, unavailable: 503,
};
const TITLES = { 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error", 501: "Not Implemented",
  503: "Service Unavailable", 504: "Gateway Timeout" };

/** What a call is refused with: a google.rpc code, a reason of the protocol, and words for people. */
export class Refusal extends Error {
  constructor(code, reason, detail, more = {}) {
    super(detail);
    Object.assign(this, { code, reason, more });
  }
}

function problem(refusal) {
  const status = STATUSES[refusal.code];
  const { code, reason, message, more } = refusal;
  return [status, "application/problem+json",
    { type: `urn:acp:${code}`, title: TITLES[status], status, detail: message, code, reason, domain: "acp", ...more }];
}

/** A field of a message by its JSON name, or by its name in the proto. */
const field = (message, name) =>
  message?.[name] ?? message?.[name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

async function bodyOf(request) {
  const [media] = (request.headers["content-type"] ?? "").split(";");
  if (media.trim().toLowerCase() !== "application/json")
    throw new Refusal("invalid_argument", "MEDIA_TYPE", `Content-Type is '${media}'; expected application/json`);
  const parts = [];
  let size = 0;
  try {
    for await (const part of request) {
      size += part.length;
      if (size <= MAX_BODY) parts.push(part);
      if (size > MAX_THROWN) break;
    }
  } catch {
    throw new Refusal("invalid_argument", "MALFORMED", "the body did not come whole");
  }
  if (size > MAX_BODY) throw new Refusal("invalid_argument", "TOO_LARGE", `the body has more than ${MAX_BODY} bytes`);
  return parsed(Buffer.concat(parts), "the body");
}

function parsed(bytes, what) {
  let value;
  try {
    value = JSON.parse(typeof bytes === "string" ? bytes : new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal("invalid_argument", "MALFORMED", `${what} is no JSON in UTF-8`);
  }
  if (!isObject(value)) throw new Refusal("invalid_argument", "MALFORMED", `${what} is no JSON object`);
  return value;
}

function checkVersion(protocol) {
  const [, major] = /^(\d{1,9})\.\d{1,9}$/.exec(protocol) ?? [];
  if (major === undefined)
    throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/protocol is missing or odd; expected such as 1.0");
  if (major !== "1")
    throw new Refusal("failed_precondition", "VERSION_UNSUPPORTED", `protocol ${protocol} is not spoken here; 1.0 is`,
      { metadata: { supported_versions: "1.0" } });
}

/** The component that is asked. Throws for what is missing or absurd in the envelope. */
function addressed(components, envelope, arrived) {
  checkVersion(String(field(envelope, "protocol") ?? ""));
  for (const name of ["runId", "stepPath"])
    if (typeof field(envelope, name) !== "string" || !field(envelope, name))
      throw new Refusal("invalid_argument", "ENVELOPE", `/envelope/${name} is missing`);
  if (!(Number.isInteger(Number(envelope.attempt)) && Number(envelope.attempt) >= 1))
    throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/attempt is no number of 1 or more");
  const component = named(components, envelope.component?.name);
  const pinned = envelope.component?.digest;
  if (pinned && pinned !== component.card.digest)
    throw new Refusal("failed_precondition", "COMPONENT_CHANGED",
      `${component.card.name} is ${component.card.digest} here; the run was pinned to ${String(pinned).slice(0, 80)}`);
  const told = field(envelope, "remainingMs");
  if (told != null && !(Number.isInteger(Number(told)) && Number(told) >= 0))
    throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/remainingMs is no number of milliseconds");
  if (told != null && performance.now() >= arrived + Number(told))
    throw new Refusal("deadline_exceeded", "DEADLINE_PASSED", "no time is left");
  return component;
}

function named(components, name) {
  const found = components.filter((each) => !name || each.card.name === name);
  if (found.length === 1) return found[0];
  const names = components.map((each) => each.card.name).join(", ");
  throw found.length
    ? new Refusal("invalid_argument", "ENVELOPE", `/envelope/component/name is missing; there are ${names}`)
    : new Refusal("not_found", "COMPONENT_UNKNOWN", `there is no such component here; there is ${names}`);
}

async function plan(components, request) {
  const arrived = performance.now();
  const message = await bodyOf(request);
  const envelope = isObject(message.envelope) ? message.envelope : {};
  const component = addressed(components, envelope, arrived);
  if (field(message, "confirmOnly"))
    throw new Refusal("unimplemented", "VERB_NOT_OFFERED", "a plan changes nothing; there is nothing to confirm");
  if (message.blobs?.length)
    throw new Refusal("unimplemented", "BLOB_MISSING", "blobs are not taken here; send the value itself");
  const text = field(message, "inputJson");
  const input = text ? parsed(text, "/inputJson") : message.input ?? {};
  if (!isObject(input)) throw new Refusal("invalid_argument", "MALFORMED", "/input is no JSON object");
  const violations = component.check(input);
  if (violations.length)
    throw new Refusal("invalid_argument", "CONTRACT",
      violations.map((each) => `the input's ${each.pointer} ${each.message}`).join("; "), { violations });
  const began = performance.now();
  const answer = component.plan(input, envelope);
  const { name, version, digest } = component.card;
  const result = { outcome: "ok", queueMs: began - arrived, serviceMs: performance.now() - began,
    component: { name, version, digest }, ...(answer.evidence && { evidence: answer.evidence }) };
  return { result, output: answer.output, ...(answer.executeAction && { executeAction: answer.executeAction }) };
}

async function describe(components, request) {
  const asked = request.method === "POST" ? await bodyOf(request) : {};
  if (asked.protocol) checkVersion(String(asked.protocol));
  const told = asked.component ? [named(components, asked.component)] : components;
  return { protocols: ["1.0"], cards: told.map((each) => each.card) };
}

async function answered(components, request, draining) {
  const { method } = request;
  const { pathname } = new URL(request.url, "http://here");
  const [, verb] = /^\/acp\/v1\/(plan|execute|observe|reflect|describe|vjp)$/.exec(pathname) ?? [];
  if (pathname === "/livez" || (pathname === "/readyz" && !draining())) return { status: "ok" };
  if (pathname === "/readyz") throw new Refusal("unavailable", "DRAINING", "about to stop");
  if (verb === "describe" && (method === "GET" || method === "POST")) return describe(components, request);
  if (verb === "plan" && method === "POST") return plan(components, request);
  if (verb)
    throw new Refusal("unimplemented", "VERB_NOT_OFFERED", `offered is plan, by POST; asked was ${verb} by ${method}`);
  throw new Refusal("not_found", "", "nothing is served here; /acp/v1/plan and /acp/v1/describe are");
}

/** Serve components by the verb plan. Each has a `card`, `check(input)` → violations, and `plan(input, envelope)`. */
export function serve(components, port) {
  let stopping = false;
  const server = createServer({ requestTimeout: BODY_MS, headersTimeout: BODY_MS, connectionsCheckingInterval: 500 },
    async (request, response) => {
      let reply;
      try {
        reply = [200, "application/json", await answered(components, request, () => stopping)];
      } catch (error) { // nothing of the inside belongs on the wire
        reply = problem(error instanceof Refusal ? error : new Refusal("internal", "", "it failed on this request"));
      }
      if (response.writableEnded || response.destroyed) return;
      const body = Buffer.from(JSON.stringify(reply[2]));
      const close = request.complete ? {} : { Connection: "close" };
      response.writeHead(reply[0], { "Content-Type": reply[1], "Content-Length": body.length, ...close });
      response.end(body);
    });
  server.keepAliveTimeout = 120_000;
  server.on("clientError", (error, socket) => { // a request that stops half-way, or is none
    if (!socket.writable) return socket.destroy();
    const late = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "did not come whole in time" : "is no HTTP";
    const [status, media, body] = problem(new Refusal("invalid_argument", "MALFORMED", `the request ${late}`));
    const text = JSON.stringify(body);
    socket.end(`HTTP/1.1 ${status} ${TITLES[status]}\r\nContent-Type: ${media}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`);
  });
  server.listen(port, "127.0.0.1", () =>
    console.log(`${components.map((each) => each.card.name).join(", ")} listens at http://127.0.0.1:${server.address().port}`));
  for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => {
      stopping = true;
      server.close();
      server.closeIdleConnections();
    });
}

// ---------------------------------------------------------------------------------------------------------- the features
// As src/stretto/components/policy_features.py has them, encoding "hashed-1".

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(text, start = 0) {
  let crc = ~start;
  for (const byte of Buffer.from(text)) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const HAN_KANA = "\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff";
const WORD = new RegExp(`[${HAN_KANA}]|(?:(?![${HAN_KANA}])[\\p{L}\\p{N}_])+`, "gu");

function words(text) {
  const folded = text.toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
  return folded.replace(/[1-9]/g, "0").match(WORD) ?? [];
}

const distinct = (hashes, buckets) => [...new Set(hashes.map((hash) => 1 + (hash % (buckets - 1))))];

function textBuckets(spec, name, texts) {
  const hashes = [];
  for (const text of texts) {
    const found = words(text).map((word) => `${word} `);
    let grams = found.map(() => crc32(`${name}~`));
    for (let n = 1; n <= Math.max(...spec.ngrams); n++) {
      grams = found.slice(n - 1).map((word, i) => crc32(word, grams[i]));
      if (spec.ngrams.includes(n)) hashes.push(...grams);
    }
  }
  return distinct(hashes, spec.buckets);
}

function* leaves(path, value) {
  if (Array.isArray(value)) {
    yield `${path}#${magnitude(value.length)}`;
    for (const each of value) yield* leaves(`${path}[]`, each);
  } else if (isObject(value)) {
    for (const [key, each] of Object.entries(value)) yield* leaves(`${path}.${key}`, each);
  } else if (typeof value === "string") yield `${path}=${value}`;
  else if (typeof value === "number") yield `${path}:${magnitude(value)}`;
  else yield `${path}:${value === true ? "True" : value === false ? "False" : "None"}`;
}

/** Small whole numbers as they are, all others to a quarter of their power of two. */
function magnitude(number) {
  if (Number.isInteger(number) && Math.abs(number) <= 16) return String(number + 0);
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(number))) + 1);
  let mantissa = number / 2 ** exponent;
  while (Math.abs(mantissa) >= 1) [mantissa, exponent] = [mantissa / 2, exponent + 1];
  while (Math.abs(mantissa) < 0.5) [mantissa, exponent] = [mantissa * 2, exponent - 1];
  return `${Math.trunc(mantissa * 8)}/8*2^${exponent}`;
}

function features(spec, input) {
  const values = new Map([[0, 1]]);
  const add = (buckets, value) => buckets.forEach((each) => values.set(each, (values.get(each) ?? 0) + value));
  for (const name of spec.text) {
    const buckets = textBuckets(spec, name, [input[name] ?? []].flat());
    add(buckets, spec.text_scale / Math.sqrt(buckets.length || 1));
  }
  for (const name of spec.state)
    add(distinct([...leaves(name, input[name] ?? null)].map((leaf) => crc32(leaf)), spec.buckets), 1);
  return values;
}

// -------------------------------------------------------------------------------------------------------------- the draw

const MASK = (1n << 64n) - 1n;
const IV = [0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n];
const SIGMA = ["0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8",
  "905724afe1bc683d", "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a",
  "6fe9b308c2d714a5", "a2847615fb9e3cd0"]
  .map((row) => [...row].map((digit) => parseInt(digit, 16)));
const rotated = (x, bits) => ((x >> bits) | (x << (64n - bits))) & MASK;

/** The first 8 bytes of BLAKE2b (RFC 7693) with a digest of 8 bytes, as a little-endian number. */
function blake2b8(bytes) {
  const h = [...IV];
  h[0] ^= 0x01010000n ^ 8n;
  const blocks = Math.max(1, Math.ceil(bytes.length / 128));
  for (let block = 0; block < blocks; block++) {
    const last = block === blocks - 1;
    const padded = Buffer.alloc(128);
    bytes.copy(padded, 0, block * 128);
    const m = Array.from({ length: 16 }, (_, i) => padded.readBigUInt64LE(8 * i));
    const v = [...h, ...IV];
    v[12] ^= BigInt(last ? bytes.length : 128 * (block + 1));
    if (last) v[14] ^= MASK;
    for (let round = 0; round < 12; round++) {
      const s = SIGMA[round % 10];
      [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
        [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]].forEach(([a, b, c, d], i) => {
        for (const [word, first, second] of [[m[s[2 * i]], 32n, 24n], [m[s[2 * i + 1]], 16n, 63n]]) {
          v[a] = (v[a] + v[b] + word) & MASK;
          v[d] = rotated(v[d] ^ v[a], first);
          v[c] = (v[c] + v[d]) & MASK;
          v[b] = rotated(v[b] ^ v[c], second);
        }
      });
    }
    for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
  }
  return h[0];
}

/** A number from U[0, 1) that depends on the run's seed and the step's path only. */
const draw = (seed, path) => Number(blake2b8(Buffer.from(`${seed}/${path}`)) >> 11n) * 2 ** -53;

// ------------------------------------------------------------------------------------------------------------ the policy

const TOOLS = ["find_user_id_by_email", "find_user_id_by_name_zip", "get_user_details", "get_order_details",
  "get_product_details", "get_item_details", "list_all_product_types", "calculate", "cancel_pending_order",
  "exchange_delivered_order_items", "modify_pending_order_address", "modify_pending_order_items",
  "modify_pending_order_payment", "modify_user_address", "return_delivered_order_items", "transfer_to_human_agents"];
const ACTIONS = [...TOOLS, "soothe", "end"];

/** What is chosen by where nothing was learnt: the prior of examples/retail. */
const UNTRAINED = {
  alternatives: ACTIONS,
  prior: ACTIONS.map((action) => ({ end: -2, transfer_to_human_agents: -4 })[action] ?? 0),
  features: { text: ["words"], state: ["state"], about: ["about"], buckets: 65536, ngrams: [1, 2], text_scale: 0.2,
    about_scale: 4, encoding: "hashed-1" },
};

/** A checkpoint of Stretto: what its weights mean, and their rows that are not zero. */
function readCheckpoint(path) {
  const file = readFileSync(path);
  const headEnd = 8 + Number(file.readBigUInt64LE(0));
  const head = JSON.parse(file.toString("utf8", 8, headEnd));
  const spec = JSON.parse(head.__metadata__.stretto);
  if (spec.features.encoding !== "hashed-1") throw new Error(`${path}: features ${spec.features.encoding} are not known`);
  const bytesOf = ({ data_offsets: [from, to] }) => file.subarray(headEnd + from, headEnd + to);
  const columns = spec.alternatives.length + (spec.features.about?.length ? 1 : 0);
  const rowBytes = bytesOf(head.rows);
  const valueBytes = bytesOf(head.values);
  const rows = new Map();
  for (let i = 0; i < rowBytes.length / 8; i++)
    rows.set(Number(rowBytes.readBigInt64LE(8 * i)),
      Array.from({ length: columns }, (_, k) => valueBytes.readDoubleLE(8 * (i * columns + k))));
  return { spec, rows, digest: createHash("sha256").update(file).digest("hex") };
}

export class Policy {
  constructor({ spec, rows, digest }, { temperature, sample }) {
    Object.assign(this, { spec, rows, temperature, sample });
    const actions = { type: "string", enum: [...spec.alternatives].reverse() };
    const facts = { type: ["object", "null"], propertyNames: { enum: spec.alternatives } };
    const { text, state, about = [] } = spec.features;
    this.card = {
      name: "planner", version: "0.1.0", kind: "node",
      digest: createHash("sha256").update(OWN_TEXT).update(`${digest}/${temperature}/${sample}`).digest("hex").slice(0, 32),
      input: { type: "object", additionalProperties: false, properties: {
        ...Object.fromEntries(text.map((name) => [name, { type: ["string", "array", "null"], items: { type: "string" } }])),
        ...Object.fromEntries(state.map((name) => [name, {}])),
        ...Object.fromEntries(about.map((name) => [name, facts])),
        available: { type: ["array", "null"], items: actions, minItems: 1 } } },
      output: { type: "object", additionalProperties: false, required: ["action", "confidence"], properties: {
        action: actions, confidence: { type: "number", minimum: 0, maximum: 1 } } },
      effects: { "*": "pure" }, verbs: ["plan"], maxRequestBytes: MAX_BODY,
      description: `Chooses one of ${spec.alternatives.length} actions by weights that Stretto learnt.`,
    };
  }

  check(input) {
    const wrong = [];
    const { text, about = [] } = this.spec.features;
    const isText = (value) => value == null || [value].flat().every((each) => typeof each === "string");
    for (const name of text) if (!isText(input[name])) wrong.push({ pointer: `/${name}`, message: "is no text" });
    for (const name of about) {
      const known = input[name] ?? {};
      if (!isObject(known) || Object.keys(known).some((each) => !this.spec.alternatives.includes(each)))
        wrong.push({ pointer: `/${name}`, message: "tells of something that is no alternative" });
    }
    const allowed = input.available ?? this.spec.alternatives;
    if (!Array.isArray(allowed) || !allowed.length || !allowed.every((each) => this.spec.alternatives.includes(each)))
      wrong.push({ pointer: "/available", message: "is no list of one or more alternatives" });
    for (const name of Object.keys(input))
      if (!(name in this.card.input.properties)) wrong.push({ pointer: `/${name}`, message: "is not known" });
    return wrong;
  }

  logits(input) {
    const { spec } = this;
    const logits = [...spec.prior];
    for (const [bucket, value] of features(spec.features, input)) {
      const row = this.rows.get(bucket);
      if (row) for (let k = 0; k < logits.length; k++) logits[k] += value * row[k];
    }
    spec.alternatives.forEach((alternative, k) => {
      const facts = (spec.features.about ?? []).flatMap((name) =>
        isObject(input[name]) && alternative in input[name] ? [...leaves(name, input[name][alternative])] : []);
      const buckets = distinct(facts.map((leaf) => crc32(leaf)), spec.features.buckets);
      const worth = buckets.reduce((sum, bucket) => sum + (this.rows.get(bucket)?.at(-1) ?? 0), 0);
      logits[k] += (spec.features.about_scale ?? 0) * worth;
    });
    return logits;
  }

  plan(input, envelope) {
    const { alternatives } = this.spec;
    const mask = alternatives.map((each) => (input.available ?? alternatives).includes(each));
    const logits = this.logits(input);
    const top = Math.max(...logits.filter((_, k) => mask[k]));
    const weights = logits.map((logit, k) => (mask[k] ? Math.exp((logit - top) / this.temperature) : 0));
    const total = weights.reduce((sum, each) => sum + each, 0);
    const probabilities = weights.map((each) => each / total);
    const chosen = this.sample ? drawn(probabilities, draw(field(envelope, "seed") ?? 0, field(envelope, "stepPath")))
      : probabilities.indexOf(Math.max(...probabilities));
    return { output: { action: alternatives[chosen], confidence: probabilities[chosen] },
      evidence: { logprob: Math.log(probabilities[chosen]) } };
  }
}

function drawn(probabilities, left) {
  let chosen = 0;
  for (const [k, probability] of probabilities.entries()) {
    if (probability <= 0) continue;
    chosen = k; // stays the last possible one when rounding leaves a little of the draw
    left -= probability;
    if (left < 0) break;
  }
  return chosen;
}

const OWN_TEXT = readFileSync(fileURLToPath(import.meta.url));

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "8102" }, weights: { type: "string" },
    temperature: { type: "string", default: "1" }, likeliest: { type: "boolean", default: false } } });
  const checkpoint = values.weights ? readCheckpoint(values.weights) : { spec: UNTRAINED, rows: new Map(), digest: "" };
  serve([new Policy(checkpoint, { temperature: Number(values.temperature), sample: !values.likeliest })], Number(values.port));
}
