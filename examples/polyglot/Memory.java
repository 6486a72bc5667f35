// The memory of the retail workflow as a component in Java: puts one more answer of the shop to what is known.
// One file, the JDK only:
//
//     javac -d build Memory.java && java -cp build Memory --port 8103
//
// First comes the component, then the protocol (docs/reference/protocol.md), then JSON, which the JDK has not. For a
// component of your own, put it in the first one's place, or start a `Server` from a file beside this one.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

public final class Memory {

    // ------------------------------------------------------------------------------------------------ the component

    static final String CARD = """
        {"name": "facts", "version": "0.2.0", "kind": "java", "verbs": ["observe"], "effects": {"*": "pure"},
         "description": "Keeps what the shop's answers taught.",
         "input": {"type": "object", "required": ["facts", "action", "arguments", "answer"], "properties": {
             "facts": {"type": ["null", "object"]}, "action": {"type": "string", "examples": ["end"]},
             "arguments": {"type": "object"}, "answer": {"type": ["null", "object"]}}},
         "output": {"type": "object", "required": ["facts", "known"], "properties": {
             "facts": {"type": "object"}, "known": {"type": "object", "properties": {
                 "orders": {"type": "integer"}, "spent": {"type": "number"}, "changes": {"type": "integer"}}}}}}""";

    static final String NOTHING = """
        {"user_id": null, "user": null, "home": null, "orders": {}, "products": {}, "items": {}, "catalogue": null,
         "sums": [], "done": [], "failed": [], "calls": {}, "last": null, "round": 0, "ended": false}""";

    static final Set<String> WRITES = Set.of("cancel_pending_order", "exchange_delivered_order_items",
        "modify_pending_order_address", "modify_pending_order_items", "modify_pending_order_payment",
        "modify_user_address", "return_delivered_order_items");
    static final Set<String> TALK = Set.of("soothe", "end");
    static final String HAND_OVER = "transfer_to_human_agents";

    public static void main(String[] args) throws Exception {
        new Server(CARD, Memory::observe).start(args.length == 2 ? Integer.parseInt(args[1]) : 8103); // --port 8103
    }

    /** What is known after one action. The facts are the request's own, and are changed where they stand. */
    static Answer observe(Request request) {
        Obj facts = request.input.get("facts") == null ? Json.read(NOTHING) : request.input.at("facts");
        Obj answer = request.input.at("answer"); // null: nothing was asked of the shop
        String action = request.input.text("action");
        boolean ok = answer == null ? TALK.contains(action) : Boolean.TRUE.equals(answer.get("ok"));
        facts.put("round", facts.whole("round") + 1);
        facts.put("last", Obj.of("tool", action, "ok", ok));
        facts.put("ended", action.equals("end") || action.equals(HAND_OVER));
        facts.at("calls").put(action, facts.at("calls").whole(action) + 1);
        Obj call = Obj.of("tool", action, "arguments", request.input.get("arguments"));
        if (!ok) facts.list("failed").add(call);
        if (ok && WRITES.contains(action)) facts.list("done").add(call);
        if (ok && !TALK.contains(action) && !action.equals(HAND_OVER)) learn(facts, call, answer.at("result"));
        return new Answer(Obj.of("facts", facts, "known", known(facts)), false);
    }

    /** Puts what the shop told in its place. */
    static void learn(Obj facts, Obj call, Obj result) {
        Object told = result.get("parsed_content");
        Obj record = told instanceof Obj object ? object : Obj.of();
        switch (call.text("tool")) {
            case "find_user_id_by_email", "find_user_id_by_name_zip" -> facts.put("user_id", told);
            case "get_user_details", "modify_user_address" -> {
                facts.put("user", record.only("name", "address", "payment_methods", "orders"));
                facts.replace("home", null, record.get("address")); // the first that was known
            }
            case "get_product_details" -> {
                record.at("variants").forEach((id, each) -> ((Obj) each).only("options", "available", "price"));
                facts.at("products").put(record.text("product_id"), record.only("name", "variants"));
            }
            case "get_item_details" -> facts.at("items").put(record.text("item_id"), record);
            case "list_all_product_types" -> facts.put("catalogue", told);
            case "calculate" -> facts.list("sums").add(call.at("arguments").get("expression"));
            default -> facts.at("orders").put(record.text("order_id"), order(record));
        }
    }

    /** The parts of an order that decide something; tracking numbers and the like are left out. */
    static Obj order(Obj told) {
        Obj first = (Obj) told.list("payment_history").get(0);
        return Obj.of("status", told.get("status"), "address", told.get("address"), "items", told.get("items"),
            "paid_with", first.get("payment_method_id"), "payments", told.list("payment_history").size(),
            "total", first.get("amount"));
    }

    /** Sums for those who want no more: orders, what they cost together, and writes that were made. */
    static Obj known(Obj facts) {
        double spent = 0;
        for (Object order : facts.at("orders").values()) spent += ((Number) ((Obj) order).get("total")).doubleValue();
        return Obj.of("orders", facts.at("orders").size(), "spent", Math.round(spent * 100) / 100.0,
            "changes", facts.list("done").size());
    }

    // ------------------------------------------------------------------------------------------------- the protocol

    /** What a step asks. `confirmOnly` is a question: what became of this request? */
    record Request(Obj envelope, Obj input, boolean confirmOnly) {}

    /** An output; `replayed` where it was given before, under the same effect key. */
    record Answer(Obj output, boolean replayed) {}

    /** Why a call is not answered: a google.rpc code, a reason of the protocol, words for people, more for programs. */
    static final class Refusal extends RuntimeException {
        static final long serialVersionUID = 1;
        static final Map<String, Integer> STATUSES = Map.of("invalid_argument", 400, "failed_precondition", 400,
            "not_found", 404, "already_exists", 409, "aborted", 409, "internal", 500, "unimplemented", 501,
            "deadline_exceeded", 504);

        final Obj problem; // RFC 9457

        Refusal(String code, String reason, String detail, Object... more) {
            problem = Obj.of("type", "urn:acp:" + code, "title", code, "status", STATUSES.get(code), "detail", detail,
                "code", code, "reason", reason, "domain", "acp");
            problem.putAll(Obj.of(more));
        }
    }

    /** Serves a component by the verb observe. */
    static final class Server {
        static final int MAX_BODY = 1 << 20; // bytes
        static final String BODY_SECONDS = "5"; // in which a request must have come

        final Obj card;
        final Function<Request, Answer> component;

        Server(String card, Function<Request, Answer> component) throws Exception {
            this.card = Json.read(card);
            this.card.putAll(Obj.of("digest", digest(), "maxRequestBytes", MAX_BODY));
            this.component = component;
        }

        void start(int port) throws IOException {
            System.setProperty("sun.net.httpserver.maxReqTime", BODY_SECONDS);
            System.setProperty("sun.net.httpserver.nodelay", "true"); // else an answer waits 40 ms for the kernel
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
            server.setExecutor(Executors.newCachedThreadPool());
            server.createContext("/", this::handle);
            Runtime.getRuntime().addShutdownHook(new Thread(() -> server.stop(1))); // whoever waits is answered
            server.start();
            System.out.println(card.get("name") + " listens at http://127.0.0.1:" + server.getAddress().getPort());
        }

        /** Of what decides the answers, the classes that lie here: a run is pinned to it. */
        static String digest() throws Exception {
            MessageDigest sum = MessageDigest.getInstance("SHA-256");
            Path here = Path.of(Memory.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            try (var files = Files.list(here)) {
                for (Path file : files.sorted().toList()) sum.update(Files.readAllBytes(file));
            }
            return HexFormat.of().formatHex(sum.digest()).substring(0, 32);
        }

        void handle(HttpExchange exchange) throws IOException {
            Obj reply;
            try {
                reply = answered(exchange);
            } catch (Refusal refusal) {
                reply = refusal.problem;
            } catch (RuntimeException broken) { // nothing of the inside belongs on the wire
                reply = new Refusal("internal", "", "it failed on this request; is its form right?").problem;
            }
            int status = reply.get("status") instanceof Integer refused ? refused : 200;
            byte[] body = Json.write(reply).getBytes(UTF_8);
            String media = status == 200 ? "application/json" : "application/problem+json";
            exchange.getResponseHeaders().set("Content-Type", media);
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        }

        Obj answered(HttpExchange exchange) {
            String path = exchange.getRequestURI().getPath();
            boolean isPost = exchange.getRequestMethod().equals("POST");
            if (path.matches("/livez|/readyz")) return Obj.of("lives", true); // about to stop, it takes no connection
            if (path.equals("/acp/v1/describe")) { // people ask by GET, and without a version
                Obj asked = isPost ? read(exchange) : Obj.of();
                checkWhom(asked.getOrDefault("protocol", "1.0"), asked.text("component"));
                return Obj.of("protocols", List.of("1.0"), "cards", List.of(card));
            }
            if (path.equals("/acp/v1/observe") && isPost) return call(read(exchange).spelt());
            if (path.startsWith("/acp/v1/"))
                throw new Refusal("unimplemented", "VERB_NOT_OFFERED", "POST observe is offered, not " + path);
            throw new Refusal("not_found", "", "nothing is served at " + path + "; /acp/v1/observe is");
        }

        static Obj read(HttpExchange exchange) {
            String media = String.valueOf(exchange.getRequestHeaders().getFirst("Content-Type")).split(";")[0];
            if (!media.strip().equalsIgnoreCase("application/json"))
                throw new Refusal("invalid_argument", "MEDIA_TYPE", "expected application/json, not " + media);
            try {
                byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY + 1);
                if (body.length > MAX_BODY)
                    throw new Refusal("invalid_argument", "TOO_LARGE", "the body is above " + MAX_BODY + " bytes");
                return Json.read(UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
            } catch (IOException broken) {
                throw new Refusal("invalid_argument", "MALFORMED", "the body did not come whole, or is no UTF-8");
            }
        }

        Obj call(Obj message) {
            long arrived = System.nanoTime();
            Obj envelope = message.get("envelope") instanceof Obj told ? told.spelt() : Obj.of();
            checkEnvelope(envelope);
            boolean confirmOnly = Boolean.TRUE.equals(message.get("confirmOnly"));
            if (confirmOnly && card.get("confirms") == null)
                throw new Refusal("unimplemented", "VERB_NOT_OFFERED", "nothing is changed here");
            String text = message.text("inputJson"); // the same as text
            Object input = text.isEmpty() ? message.get("input") : Json.read(text);
            checkInput(input instanceof Obj told ? told : Obj.of());
            Answer answer = component.apply(new Request(envelope, (Obj) input, confirmOnly));
            Obj who = Obj.of("name", card.get("name"), "version", card.get("version"), "digest", card.get("digest"));
            Obj result = Obj.of("outcome", "ok", "replayed", answer.replayed,
                "serviceMs", (System.nanoTime() - arrived) / 1e6, "component", who);
            return text.isEmpty() ? Obj.of("result", result, "output", answer.output)
                : Obj.of("result", result, "outputJson", Json.write(answer.output)); // in the form in which it was asked
        }

        void checkWhom(Object protocol, String component) {
            if (!String.valueOf(protocol).matches("\\d+\\.\\d+"))
                throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/protocol is no major.minor: " + protocol);
            if (!protocol.toString().startsWith("1.")) // any minor version is answered
                throw new Refusal("failed_precondition", "VERSION_UNSUPPORTED", protocol + " is not spoken, 1.0 is",
                    "metadata", Obj.of("supported_versions", "1.0"));
            if (!component.isEmpty() && !component.equals(card.get("name")))
                throw new Refusal("not_found", "COMPONENT_UNKNOWN", component + " is not here: " + card.get("name"));
        }

        /** Refuses what is missing or absurd in an envelope, before anything of the input is looked at. */
        void checkEnvelope(Obj envelope) {
            Obj component = envelope.get("component") instanceof Obj told ? told : Obj.of();
            checkWhom(envelope.get("protocol"), component.text("name"));
            boolean isTraced = !envelope.text("runId").isEmpty() && !envelope.text("stepPath").isEmpty();
            if (!isTraced || envelope.whole("attempt") < 1)
                throw new Refusal("invalid_argument", "ENVELOPE", "/envelope needs runId, stepPath, attempt from 1");
            String pinned = component.text("digest");
            if (!pinned.isEmpty() && !pinned.equals(card.get("digest")))
                throw new Refusal("failed_precondition", "COMPONENT_CHANGED", "the run is pinned to " + pinned);
            if (envelope.get("remainingMs") != null && envelope.whole("remainingMs") <= 0)
                throw new Refusal("deadline_exceeded", "DEADLINE_PASSED", "no time is left by /envelope/remainingMs",
                    "metadata", Obj.of("sent", "no")); // nothing was done
        }

        /** Holds an input to the types of the card's schema, and tells every place where it breaks them. */
        void checkInput(Obj input) {
            List<Object> violations = new ArrayList<>();
            card.at("input").at("properties").forEach((name, property) -> {
                String types = Json.write(((Obj) property).get("type")); // one, or a list
                Object value = input.get(name);
                String type = value instanceof Obj ? "object" : value instanceof String ? "string" : "" + value;
                if (!types.contains('"' + type + '"') || !input.containsKey(name))
                    violations.add(Obj.of("pointer", "/" + name, "message", "is missing, or not of type " + types));
            });
            if (!violations.isEmpty())
                throw new Refusal("invalid_argument", "CONTRACT", "the input breaks the card's schema: " + violations,
                    "violations", violations);
        }
    }

    // --------------------------------------------------------------------------------------------------------- JSON

    /** An object of JSON, in its own order. */
    static final class Obj extends LinkedHashMap<String, Object> {
        static final long serialVersionUID = 1;
        static final Pattern PROTO = Pattern.compile("_([a-z])");

        static Obj of(Object... pairs) {
            Obj made = new Obj();
            for (int i = 0; i < pairs.length; i += 2) made.put((String) pairs[i], pairs[i + 1]);
            return made;
        }

        Obj at(String name) { return (Obj) get(name); }

        @SuppressWarnings("unchecked") // lists come of Json, or are filled with values of JSON
        List<Object> list(String name) { return (List<Object>) get(name); }

        /** A text; empty for anything else, which is how the protocol writes what is unset. */
        String text(String name) { return get(name) instanceof String text ? text : ""; }

        /** A whole number, which may stand as text; 0 for anything else. */
        long whole(String name) {
            try {
                return new BigDecimal(String.valueOf(get(name))).longValueExact();
            } catch (ArithmeticException | NumberFormatException other) {
                return 0;
            }
        }

        /** The same by JSON's names; a message may have those of the proto, run_id for runId. */
        Obj spelt() {
            Obj made = new Obj();
            forEach((name, value) -> made.put(PROTO.matcher(name).replaceAll(at -> at.group(1).toUpperCase()), value));
            return made;
        }

        Obj only(String... names) {
            keySet().retainAll(Set.of(names));
            return this;
        }
    }

    /** Reads and writes JSON (RFC 8259). A number keeps its digits: 0.10 is no 0.1. */
    static final class Json {
        static final int DEEPEST = 100;
        static final Pattern PLAIN = Pattern.compile("true|false|null|-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,3})?");

        final String text;
        int at = 0;

        Json(String text) { this.text = text; }

        static Obj read(String text) {
            Json json = new Json(text);
            Object value = json.value(0);
            json.expect(value instanceof Obj && json.next() == 0);
            return (Obj) value;
        }

        void expect(boolean fits) {
            if (!fits) throw new Refusal("invalid_argument", "MALFORMED", "no object of JSON, by its character " + at);
        }

        /** The next character that is no blank; 0 at the end. */
        char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        boolean take(char c) {
            boolean fits = next() == c;
            if (fits) at++;
            return fits;
        }

        Object value(int depth) {
            expect(depth < DEEPEST);
            if (take('{')) {
                Obj object = new Obj();
                for (boolean more = next() != '}'; more; more = take(',')) {
                    String name = string();
                    expect(take(':'));
                    object.put(name, value(depth + 1));
                }
                expect(take('}'));
                return object;
            }
            if (take('[')) {
                List<Object> list = new ArrayList<>();
                for (boolean more = next() != ']'; more; more = take(',')) list.add(value(depth + 1));
                expect(take(']'));
                return list;
            }
            return next() == '"' ? string() : plain();
        }

        Object plain() {
            Matcher found = PLAIN.matcher(text).region(at, text.length());
            expect(found.lookingAt());
            at = found.end();
            return switch (found.group()) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> new BigDecimal(found.group());
            };
        }

        String string() {
            StringBuilder made = new StringBuilder();
            expect(take('"'));
            while (at < text.length() && text.charAt(at) != '"') {
                char c = text.charAt(at++);
                expect(c >= ' ');
                made.append(c == '\\' ? escaped() : c);
            }
            expect(take('"'));
            return made.toString();
        }

        char escaped() {
            expect(at < text.length());
            char c = text.charAt(at++);
            int simple = "\"\\/bfnrt".indexOf(c);
            if (simple >= 0) return "\"\\/\b\f\n\r\t".charAt(simple);
            String digits = text.substring(at, Math.min(at + 4, text.length()));
            expect(c == 'u' && digits.matches("[0-9a-fA-F]{4}"));
            at += 4;
            return (char) Integer.parseInt(digits, 16);
        }

        static String write(Object value) {
            if (value instanceof Obj object)
                return object.entrySet().stream().map(each -> write(each.getKey()) + ":" + write(each.getValue()))
                    .collect(joining(",", "{", "}"));
            if (value instanceof List<?> list) return list.stream().map(Json::write).collect(joining(",", "[", "]"));
            return value instanceof String text ? '"' + escape(text) + '"' : String.valueOf(value);
        }

        static String escape(String text) {
            Function<Character, String> one = c -> c == '"' || c == '\\' ? "\\" + c
                : c < ' ' || Character.isSurrogate(c) ? String.format("\\u%04x", (int) c) : String.valueOf(c);
            return text.chars().mapToObj(c -> one.apply((char) c)).collect(joining());
        }
    }
}
