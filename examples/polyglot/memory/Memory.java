// Two memories as components in Java, behind the protocol over HTTP. The JDK alone: com.sun.net.httpserver, and a small
// JSON reader at the end of this file.
//
//     javac -d build Memory.java && java -cp build Memory --port 8103
//
// `facts` is the memory of the retail example: pure, the facts so far and one more answer of the shop give the facts
// after it. `journal` keeps notes by what they are about: a write, made once for each effect key, which can be confirmed.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;

public final class Memory {
    static final int MAX_BODY = 4 << 20; // bytes
    static final int MAX_THROWN = 128 << 20; // bytes of a body that is too large which are read and thrown away
    static final String BODY_SECONDS = "5"; // in which a request must have been sent
    static final int MAX_KEYS = 10_000; // effect keys that are remembered
    static final int MAX_NOTES = 100; // about one thing; older ones are let go
    static final int TOLD = 5; // latest notes that an answer holds

    static volatile boolean draining = false;

    public static void main(String[] args) throws Exception {
        System.setProperty("sun.net.httpserver.maxReqTime", BODY_SECONDS);
        System.setProperty("sun.net.httpserver.nodelay", "true"); // else an answer waits 40 ms for the kernel's leave
        int port = args.length == 2 && args[0].equals("--port") ? Integer.parseInt(args[1]) : 8103;
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        List<Component> components = List.of(new Facts(), new Journal());
        server.createContext("/", exchange -> serve(exchange, components));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            draining = true;
            server.stop(1);
        }));
        server.start();
        System.out.println("facts, journal listen at http://127.0.0.1:" + server.getAddress().getPort());
    }

    // ------------------------------------------------------------------------------------------------------ the protocol

    /** What is asked by the verb observe. */
    interface Component {
        String name();
        Map<String, Object> card();
        /** Places of the input that do not fit the card's schema, and why. */
        Map<String, String> violations(Map<String, Object> input);
        boolean writes(Map<String, Object> input);
        Map<String, Object> observe(Map<String, Object> input) throws Refusal;
        /** What became of requests under their effect keys; null where nothing is written. */
        default Keys keys() { return null; }
    }

    /** What a call is refused with: a google.rpc code, a reason of the protocol, and words for people. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;

        final String code;
        final String reason;
        final Map<String, Object> more = new LinkedHashMap<>();

        Refusal(String code, String reason, String detail) {
            super(detail);
            this.code = code;
            this.reason = reason;
        }
    }

    static final Map<String, Integer> STATUSES = Map.of("invalid_argument", 400, "failed_precondition", 400, "not_found", 404,
        "already_exists", 409, "aborted", 409, "unimplemented", 501, "internal", 500, "deadline_exceeded", 504,
        "unavailable", 503);

    static void serve(HttpExchange exchange, List<Component> components) throws IOException {
        int status = 200;
        String media = "application/json";
        Map<String, Object> reply;
        try {
            reply = answered(exchange, components);
        } catch (Refusal refusal) {
            status = STATUSES.get(refusal.code);
            media = "application/problem+json";
            reply = map("type", "urn:acp:" + refusal.code, "title", refusal.code, "status", status,
                "detail", refusal.getMessage(), "code", refusal.code, "reason", refusal.reason, "domain", "acp");
            reply.putAll(refusal.more);
        } catch (RuntimeException broken) { // nothing of the inside belongs on the wire
            status = 500;
            media = "application/problem+json";
            reply = map("type", "urn:acp:internal", "title", "internal", "status", 500, "detail", "it failed on this request",
                "code", "internal", "domain", "acp");
        }
        byte[] body = Json.text(reply).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", media);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    static Map<String, Object> answered(HttpExchange exchange, List<Component> components) throws IOException, Refusal {
        String path = exchange.getRequestURI().getPath();
        String method = exchange.getRequestMethod();
        boolean isVerb = path.matches("/acp/v1/(plan|execute|observe|reflect|describe|vjp)");
        if (path.equals("/livez") || (path.equals("/readyz") && !draining)) return map("status", "ok");
        if (path.equals("/readyz")) throw new Refusal("unavailable", "DRAINING", "about to stop");
        if (path.equals("/acp/v1/describe") && method.matches("GET|POST")) {
            return describe(method.equals("POST") ? message(exchange) : map(), components);
        }
        if (path.equals("/acp/v1/observe") && method.equals("POST")) return observe(exchange, components);
        if (isVerb) {
            String detail = "offered is observe, by POST; asked was " + path + " by " + method;
            throw new Refusal("unimplemented", "VERB_NOT_OFFERED", detail);
        }
        throw new Refusal("not_found", "", "nothing is served here; /acp/v1/observe and /acp/v1/describe are");
    }

    static Map<String, Object> message(HttpExchange exchange) throws Refusal {
        String media = String.valueOf(exchange.getRequestHeaders().getFirst("Content-Type")).split(";")[0].strip();
        if (!media.equalsIgnoreCase("application/json")) {
            throw new Refusal("invalid_argument", "MEDIA_TYPE", "Content-Type is '" + media + "'; expected application/json");
        }
        byte[] body;
        try (InputStream in = exchange.getRequestBody()) {
            body = in.readNBytes(MAX_BODY + 1);
            if (body.length > MAX_BODY) in.skip(MAX_THROWN);
        } catch (IOException cut) {
            throw new Refusal("invalid_argument", "MALFORMED", "the body did not come whole");
        }
        if (body.length > MAX_BODY) {
            throw new Refusal("invalid_argument", "TOO_LARGE", "the body has more than " + MAX_BODY + " bytes");
        }
        return object(body, "the body");
    }

    static Map<String, Object> object(byte[] text, String what) throws Refusal {
        try {
            String read = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
            if (new Json(read).whole() instanceof Map<?, ?> found) return cast(found);
        } catch (CharacterCodingException | IllegalArgumentException broken) {
            throw new Refusal("invalid_argument", "MALFORMED", what + " is no JSON in UTF-8");
        }
        throw new Refusal("invalid_argument", "MALFORMED", what + " is no JSON object");
    }

    static Map<String, Object> describe(Map<String, Object> asked, List<Component> components) throws Refusal {
        if (asked.get("protocol") instanceof String told && !told.isEmpty()) checkVersion(told);
        List<Component> told = asked.get("component") instanceof String name && !name.isEmpty()
            ? List.of(named(components, name)) : components;
        return map("protocols", List.of("1.0"), "cards", told.stream().map(Component::card).toList());
    }

    static Map<String, Object> observe(HttpExchange exchange, List<Component> components) throws Refusal {
        long arrived = System.nanoTime();
        Map<String, Object> message = message(exchange);
        Map<String, Object> envelope = message.get("envelope") instanceof Map<?, ?> found ? cast(found) : map();
        Component component = addressed(components, envelope, arrived);
        Map<String, Object> input = inputOf(message);
        check(component.violations(input));
        boolean confirmOnly = Boolean.TRUE.equals(field(message, "confirmOnly"));
        if (!component.writes(input)) {
            if (confirmOnly) throw new Refusal("unimplemented", "VERB_NOT_OFFERED", "this changes nothing that could be confirmed");
            return answer(component, component.observe(input), arrived, false);
        }
        if (!(field(envelope, "effectKey") instanceof String key) || key.isEmpty()) {
            throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/effectKey is missing; a write needs one");
        }
        if (envelope.get("variant") instanceof Map<?, ?> variant && Boolean.TRUE.equals(variant.get("mirror"))) {
            throw new Refusal("failed_precondition", "MIRROR_WRITE", "a mirror must write nothing");
        }
        Keys keys = component.keys();
        synchronized (keys) { // one write at a time: what is remembered of a key is what was done
            Map<String, Object> before = keys.find(key, Json.text(input));
            if (before != null) return answer(component, before, arrived, true);
            if (confirmOnly) throw keys.unknown(key);
            Map<String, Object> output = component.observe(input);
            keys.done(key, Json.text(input), output);
            return answer(component, output, arrived, false);
        }
    }

    static Map<String, Object> answer(Component component, Map<String, Object> output, long arrived, boolean replayed) {
        Map<String, Object> card = component.card();
        Map<String, Object> who = map("name", card.get("name"), "version", card.get("version"), "digest", card.get("digest"));
        double took = (System.nanoTime() - arrived) / 1e6;
        return map("result", map("outcome", "ok", "serviceMs", took, "replayed", replayed, "component", who), "output", output);
    }

    static Map<String, Object> inputOf(Map<String, Object> message) throws Refusal {
        if (message.get("blobs") instanceof List<?> blobs && !blobs.isEmpty()) {
            throw new Refusal("unimplemented", "BLOB_MISSING", "blobs are not taken here; send the value itself");
        }
        if (field(message, "inputJson") instanceof String text && !text.isEmpty()) {
            return object(text.getBytes(StandardCharsets.UTF_8), "/inputJson");
        }
        Object input = message.get("input");
        if (input == null) return map();
        if (input instanceof Map<?, ?> found) return cast(found);
        throw new Refusal("invalid_argument", "MALFORMED", "/input is no JSON object");
    }

    static void check(Map<String, String> wrong) throws Refusal {
        if (wrong.isEmpty()) return;
        Refusal refusal = new Refusal("invalid_argument", "CONTRACT", "the input does not fit the card: " + wrong);
        refusal.more.put("violations",
            wrong.entrySet().stream().map(each -> map("pointer", each.getKey(), "message", each.getValue())).toList());
        throw refusal;
    }

    /** The component that is asked. Throws for what is missing or absurd in the envelope. */
    static Component addressed(List<Component> components, Map<String, Object> envelope, long arrived) throws Refusal {
        checkVersion(field(envelope, "protocol") instanceof String told ? told : "");
        for (String name : List.of("runId", "stepPath")) {
            if (!(field(envelope, name) instanceof String text) || text.isEmpty()) {
                throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/" + name + " is missing");
            }
        }
        if (whole(field(envelope, "attempt")) < 1) {
            throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/attempt is no number of 1 or more");
        }
        Map<String, Object> to = envelope.get("component") instanceof Map<?, ?> found ? cast(found) : map();
        Component component = named(components, to.get("name") instanceof String name ? name : "");
        if (to.get("digest") instanceof String pinned && !pinned.isEmpty() && !pinned.equals(DIGEST)) {
            throw new Refusal("failed_precondition", "COMPONENT_CHANGED", "it is " + DIGEST + " here; the run was pinned to another");
        }
        if (field(envelope, "remainingMs") != null) {
            long left = whole(field(envelope, "remainingMs"));
            if (left < 0) throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/remainingMs is no number of milliseconds");
            if (System.nanoTime() - arrived >= left * 1_000_000L) {
                throw new Refusal("deadline_exceeded", "DEADLINE_PASSED", "no time is left");
            }
        }
        return component;
    }

    static void checkVersion(String told) throws Refusal {
        if (!told.matches("\\d{1,9}\\.\\d{1,9}")) {
            throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/protocol is missing or odd; expected such as 1.0");
        }
        if (!told.startsWith("1.")) {
            Refusal refusal = new Refusal("failed_precondition", "VERSION_UNSUPPORTED", "protocol " + told + " is not spoken here; 1.0 is");
            refusal.more.put("metadata", map("supported_versions", "1.0"));
            throw refusal;
        }
    }

    static Component named(List<Component> components, String name) throws Refusal {
        if (name.isEmpty()) {
            throw new Refusal("invalid_argument", "ENVELOPE", "/envelope/component/name is missing; there are facts and journal");
        }
        for (Component each : components) if (each.name().equals(name)) return each;
        throw new Refusal("not_found", "COMPONENT_UNKNOWN", "there is no such component here; there are facts and journal");
    }

    /** A field of a message by its JSON name, or by its name in the proto. */
    static Object field(Map<String, Object> message, String name) {
        Object found = message.get(name);
        return found != null ? found : message.get(name.replaceAll("([A-Z])", "_$1").toLowerCase());
    }

    /** A whole number, which may stand as text; -1 for anything else. */
    static long whole(Object value) {
        try {
            return value == null ? -1 : Long.parseLong(String.valueOf(value));
        } catch (NumberFormatException other) {
            return -1;
        }
    }

    /** Of everything that decides what is answered: the program itself. */
    static final String DIGEST = digest();

    static String digest() {
        try {
            MessageDigest sum = MessageDigest.getInstance("SHA-256");
            for (Class<?> part : Memory.class.getNestMembers()) {
                try (InputStream in = Memory.class.getResourceAsStream("/" + part.getName() + ".class")) {
                    sum.update(in.readAllBytes());
                }
            }
            return HexFormat.of().formatHex(sum.digest()).substring(0, 32);
        } catch (Exception broken) {
            throw new IllegalStateException(broken);
        }
    }

    /** What was done under each effect key. The oldest are forgotten; then nobody knows of a key that is not here. */
    static final class Keys {
        private record Done(String input, Map<String, Object> output) {}

        private final Map<String, Done> done = new LinkedHashMap<>();
        private boolean forgot = false;

        Map<String, Object> find(String key, String input) throws Refusal {
            Done before = done.get(key);
            if (before == null) return null;
            if (before.input.equals(input)) return before.output;
            throw new Refusal("already_exists", "KEY_CONFLICT", "this effect key was used with another request");
        }

        void done(String key, String input, Map<String, Object> output) {
            done.put(key, new Done(input, output));
            if (done.size() > MAX_KEYS) {
                done.remove(done.keySet().iterator().next());
                forgot = true;
            }
        }

        Refusal unknown(String key) {
            return forgot ? new Refusal("aborted", "IN_DOUBT", "so old a key is not remembered")
                : new Refusal("not_found", "NOT_DONE", "nothing was done under this effect key");
        }
    }

    // -------------------------------------------------------------------------------------------------------- the facts

    /** What the shop's answers taught: one JSON object that grows with each call, as examples/retail/facts.py folds it. */
    static final class Facts implements Component {
        static final Set<String> READS = Set.of("find_user_id_by_email", "find_user_id_by_name_zip", "get_user_details",
            "get_order_details", "get_product_details", "get_item_details", "list_all_product_types", "calculate");
        static final Set<String> WRITES = Set.of("cancel_pending_order", "exchange_delivered_order_items",
            "modify_pending_order_address", "modify_pending_order_items", "modify_pending_order_payment", "modify_user_address",
            "return_delivered_order_items");
        static final String TRANSFER = "transfer_to_human_agents";

        public String name() { return "facts"; }

        public boolean writes(Map<String, Object> input) { return false; }

        public Map<String, Object> card() {
            Map<String, Object> input = map("type", "object", "properties", map(
                "facts", map("type", List.of("null", "object")), "action", map("type", "string", "examples", List.of("end")),
                "arguments", map("type", "object"), "answer", map("type", List.of("null", "object"))),
                "required", List.of("facts", "action", "arguments", "answer"), "additionalProperties", false);
            Map<String, Object> known = map("orders", map("type", "integer"), "spent", map("type", "number"),
                "changes", map("type", "integer"));
            Map<String, Object> output = map("type", "object", "properties", map("facts", map("type", "object"),
                "known", map("type", "object", "properties", known, "required", List.copyOf(known.keySet()))),
                "required", List.of("facts", "known"), "additionalProperties", false);
            return map("name", "facts", "version", "0.1.0", "kind", "java", "digest", DIGEST, "input", input, "output", output,
                "effects", map("*", "pure"), "verbs", List.of("observe"), "maxRequestBytes", MAX_BODY,
                "description", "Keeps what the shop's answers taught.");
        }

        public Map<String, String> violations(Map<String, Object> input) {
            Map<String, String> wrong = new LinkedHashMap<>();
            if (!(input.get("action") instanceof String)) wrong.put("/action", "is no string");
            if (!(input.get("arguments") instanceof Map)) wrong.put("/arguments", "is no object");
            for (String name : List.of("facts", "answer")) {
                Object value = input.get(name);
                if (!input.containsKey(name) || !(value == null || value instanceof Map)) wrong.put("/" + name, "is neither an object nor null");
            }
            for (String name : input.keySet()) {
                if (!Set.of("facts", "action", "arguments", "answer").contains(name)) wrong.put("/" + name, "is not known");
            }
            return wrong;
        }

        public Map<String, Object> observe(Map<String, Object> input) throws Refusal {
            String action = (String) input.get("action");
            Map<String, Object> facts = input.get("facts") == null ? nothing() : at(input, "facts");
            Object result = null;
            boolean ok = !(READS.contains(action) || WRITES.contains(action) || action.equals(TRANSFER));
            if (input.get("answer") != null) {
                Map<String, Object> answer = at(input, "answer");
                ok = Boolean.TRUE.equals(answer.get("ok"));
                result = answer.get("result") instanceof Map<?, ?> told ? told.get("parsed_content") : null;
            }
            try {
                Map<String, Object> learnt = learn(facts, action, at(input, "arguments"), result, ok);
                return map("facts", learnt, "known", known(learnt));
            } catch (ClassCastException | NullPointerException | IndexOutOfBoundsException broken) {
                throw new Refusal("internal", "", "the facts, or the shop's answer to " + action + ", are not of the shop's form");
            }
        }

        static Map<String, Object> nothing() {
            return map("user_id", null, "user", null, "home", null, "orders", map(), "products", map(), "items", map(),
                "catalogue", null, "sums", List.of(), "done", List.of(), "failed", List.of(), "calls", map(), "last", null,
                "round", 0, "ended", false);
        }

        static Map<String, Object> learn(Map<String, Object> facts, String tool, Map<String, Object> arguments, Object result,
                boolean ok) {
            Map<String, Object> learnt = new LinkedHashMap<>(facts);
            Object called = at(facts, "calls").get(tool);
            learnt.put("round", whole(facts.get("round")) + 1);
            learnt.put("calls", with(at(facts, "calls"), tool, called == null ? 1 : whole(called) + 1));
            learnt.put("last", map("tool", tool, "ok", ok));
            learnt.put("ended", tool.equals("end") || tool.equals(TRANSFER));
            if (tool.equals("end") || tool.equals("soothe")) return learnt;
            if (!ok || WRITES.contains(tool)) {
                String list = ok ? "done" : "failed";
                learnt.put(list, and(facts.get(list), map("tool", tool, "arguments", arguments)));
            }
            if (ok && (READS.contains(tool) || WRITES.contains(tool))) take(learnt, tool, arguments, result);
            return learnt;
        }

        static void take(Map<String, Object> facts, String tool, Map<String, Object> arguments, Object result) {
            if (tool.startsWith("find_user_id")) {
                facts.put("user_id", result);
            } else if (tool.equals("get_user_details") || tool.equals("modify_user_address")) {
                Map<String, Object> user = only(cast((Map<?, ?>) result), "name", "address", "payment_methods", "orders");
                facts.put("user", user);
                if (facts.get("home") == null) facts.put("home", user.get("address"));
            } else if (tool.equals("get_product_details")) {
                Map<String, Object> product = cast((Map<?, ?>) result);
                Map<String, Object> variants = map();
                at(product, "variants").forEach((id, each) ->
                    variants.put(id, only(cast((Map<?, ?>) each), "options", "available", "price")));
                facts.put("products", with(at(facts, "products"), (String) product.get("product_id"),
                    map("name", product.get("name"), "variants", variants)));
            } else if (tool.equals("get_item_details")) {
                Map<String, Object> item = cast((Map<?, ?>) result);
                facts.put("items", with(at(facts, "items"), (String) item.get("item_id"), item));
            } else if (tool.equals("list_all_product_types")) {
                facts.put("catalogue", result);
            } else if (tool.equals("calculate")) {
                facts.put("sums", and(facts.get("sums"), arguments.get("expression")));
            } else if (result instanceof Map<?, ?> order && order.containsKey("order_id")) {
                facts.put("orders", with(at(facts, "orders"), (String) order.get("order_id"), order(cast(order))));
            }
        }

        /** The parts of an order that decide something; tracking numbers and the like are left out. */
        static Map<String, Object> order(Map<String, Object> answer) {
            List<?> payments = (List<?>) answer.get("payment_history");
            Map<String, Object> first = cast((Map<?, ?>) payments.get(0));
            return map("status", answer.get("status"), "address", answer.get("address"), "items", answer.get("items"),
                "paid_with", first.get("payment_method_id"), "payments", payments.size(), "total", first.get("amount"));
        }

        /** Sums for those who want no more: orders, what they cost together, and writes that were made. */
        static Map<String, Object> known(Map<String, Object> facts) {
            Map<String, Object> orders = at(facts, "orders");
            double spent = 0;
            for (Object each : orders.values()) spent += Double.parseDouble(String.valueOf(((Map<?, ?>) each).get("total")));
            return map("orders", orders.size(), "spent", Math.round(spent * 100) / 100.0,
                "changes", ((List<?>) facts.get("done")).size());
        }

        static Map<String, Object> with(Map<String, Object> old, String key, Object value) {
            Map<String, Object> changed = new LinkedHashMap<>(old);
            changed.put(key, value);
            return changed;
        }

        static List<Object> and(Object old, Object more) {
            List<Object> longer = new ArrayList<>((List<?>) old);
            longer.add(more);
            return longer;
        }

        static Map<String, Object> only(Map<String, Object> from, String... names) {
            Map<String, Object> kept = map();
            for (String name : names) {
                if (!from.containsKey(name)) throw new NullPointerException(name);
                kept.put(name, from.get(name));
            }
            return kept;
        }
    }

    // ------------------------------------------------------------------------------------------------------ the journal

    /** Notes by what they are about, in this process's memory. */
    static final class Journal implements Component {
        private final Map<String, List<Object>> notes = new LinkedHashMap<>();
        private final Map<String, Integer> counts = new LinkedHashMap<>();
        private final Keys keys = new Keys();

        public String name() { return "journal"; }

        public Keys keys() { return keys; }

        public boolean writes(Map<String, Object> input) { return "note".equals(input.get("action")); }

        public Map<String, Object> card() {
            Map<String, Object> input = map("type", "object", "properties", map(
                "action", map("enum", List.of("recall", "note")), "about", map("type", "string"),
                "event", map("type", List.of("object", "null"))),
                "required", List.of("action", "about", "event"), "additionalProperties", false);
            Map<String, Object> output = map("type", "object", "properties", map("about", map("type", "string"),
                "count", map("type", "integer"), "latest", map("type", "array", "items", map("type", "object"))),
                "required", List.of("about", "count", "latest"), "additionalProperties", false);
            return map("name", "journal", "version", "0.1.0", "kind", "java", "digest", DIGEST, "input", input,
                "output", output, "effects", map("recall", "read", "note", "write"), "actionField", "action",
                "idempotent", true, "confirms", true, "verbs", List.of("observe"), "maxRequestBytes", MAX_BODY,
                "description", "Keeps notes, and tells the latest about something.");
        }

        public Map<String, String> violations(Map<String, Object> input) {
            Map<String, String> wrong = new LinkedHashMap<>();
            boolean writes = "note".equals(input.get("action"));
            if (!writes && !"recall".equals(input.get("action"))) wrong.put("/action", "is neither recall nor note");
            if (!(input.get("about") instanceof String)) wrong.put("/about", "is no string");
            Object event = input.get("event");
            if (!input.containsKey("event") || !(event instanceof Map || event == null)) wrong.put("/event", "is neither an object nor null");
            if (writes && event == null) wrong.put("/event", "is null; a note needs one");
            for (String name : input.keySet()) {
                if (!Set.of("action", "about", "event").contains(name)) wrong.put("/" + name, "is not known");
            }
            return wrong;
        }

        public synchronized Map<String, Object> observe(Map<String, Object> input) {
            String about = (String) input.get("about");
            if (writes(input)) {
                List<Object> mine = notes.computeIfAbsent(about, name -> new ArrayList<>());
                mine.add(input.get("event"));
                if (mine.size() > MAX_NOTES) mine.remove(0);
                counts.merge(about, 1, Integer::sum);
            }
            List<Object> mine = notes.getOrDefault(about, List.of());
            return map("about", about, "count", counts.getOrDefault(about, 0),
                "latest", List.copyOf(mine.subList(Math.max(0, mine.size() - TOLD), mine.size())));
        }
    }

    // ------------------------------------------------------------------------------------------------------------- JSON

    static Map<String, Object> map(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) made.put((String) pairs[i], pairs[i + 1]);
        return made;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> cast(Map<?, ?> found) { return (Map<String, Object>) found; }

    static Map<String, Object> at(Map<String, Object> from, String key) { return cast((Map<?, ?>) from.get(key)); }

    /** Reads JSON (RFC 8259). Objects keep their order, and numbers stand as they were written. */
    static final class Json {
        private static final int DEEPEST = 100;

        /** A number as it stands. */
        record Figure(String text) {
            @Override public String toString() { return text; }
        }

        private final String text;
        private int at = 0;

        Json(String text) { this.text = text; }

        Object whole() {
            Object value = value(0);
            blanks();
            if (at < text.length()) throw wrong();
            return value;
        }

        private IllegalArgumentException wrong() { return new IllegalArgumentException("no JSON at " + at); }

        private void blanks() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
        }

        private boolean take(String expected) {
            if (!text.startsWith(expected, at)) return false;
            at += expected.length();
            return true;
        }

        private void must(String expected) {
            blanks();
            if (!take(expected)) throw wrong();
        }

        private Object value(int depth) {
            if (depth > DEEPEST) throw wrong();
            blanks();
            if (take("{")) return object(depth);
            if (take("[")) return list(depth);
            if (take("\"")) return string();
            if (take("true")) return true;
            if (take("false")) return false;
            if (take("null")) return null;
            int start = at;
            while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) at++;
            String number = text.substring(start, at);
            if (!number.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) throw wrong();
            return new Figure(number);
        }

        private Map<String, Object> object(int depth) {
            Map<String, Object> made = map();
            blanks();
            if (take("}")) return made;
            while (true) {
                must("\"");
                String key = string();
                must(":");
                made.put(key, value(depth + 1));
                blanks();
                if (take("}")) return made;
                must(",");
            }
        }

        private List<Object> list(int depth) {
            List<Object> made = new ArrayList<>();
            blanks();
            if (take("]")) return made;
            while (true) {
                made.add(value(depth + 1));
                blanks();
                if (take("]")) return made;
                must(",");
            }
        }

        private String string() {
            StringBuilder made = new StringBuilder();
            while (at < text.length()) {
                char c = text.charAt(at++);
                if (c == '"') return made.toString();
                if (c < ' ') throw wrong();
                made.append(c == '\\' ? escaped() : c);
            }
            throw wrong();
        }

        private char escaped() {
            if (at >= text.length()) throw wrong();
            char c = text.charAt(at++);
            int simple = "\"\\/bfnrt".indexOf(c);
            if (simple >= 0) return "\"\\/\b\f\n\r\t".charAt(simple);
            if (c != 'u' || at + 4 > text.length()) throw wrong();
            at += 4;
            return (char) HexFormat.fromHexDigits(text, at - 4, at);
        }

        static String text(Object value) {
            StringBuilder out = new StringBuilder();
            write(value, out);
            return out.toString();
        }

        private static void write(Object value, StringBuilder out) {
            if (value instanceof String text) {
                quote(text, out);
            } else if (value instanceof Map<?, ?> object) {
                String before = "{";
                for (Map.Entry<?, ?> each : object.entrySet()) {
                    out.append(before);
                    quote((String) each.getKey(), out);
                    write(each.getValue(), out.append(':'));
                    before = ",";
                }
                out.append(object.isEmpty() ? "{}" : "}");
            } else if (value instanceof List<?> list) {
                String before = "[";
                for (Object each : list) {
                    write(each, out.append(before));
                    before = ",";
                }
                out.append(list.isEmpty() ? "[]" : "]");
            } else {
                out.append(value);
            }
        }

        private static void quote(String text, StringBuilder out) {
            out.append('"');
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"' || c == '\\') out.append('\\').append(c);
                else if (c < ' ' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
                else out.append(c);
            }
            out.append('"');
        }
    }
}
