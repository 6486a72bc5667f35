// The hotline's memory as a component in Java: notes by what they are about. A note is a write: it is made once for its
// effect key, however often it is asked for, and `confirmOnly` asks what became of it. The protocol is that of
// ../polyglot/Memory.java:
//
//     javac -d build ../polyglot/Memory.java Journal.java && java -cp build Journal --port 8105

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public final class Journal {
    static final int MAX_KEYS = 10_000; // effect keys that are remembered
    static final int MAX_NOTES = 100; // about one thing; older ones are let go
    static final int TOLD = 5; // latest notes that an answer holds

    static final String CARD = """
        {"name": "journal", "version": "0.2.0", "kind": "java", "verbs": ["observe"],
         "description": "Keeps notes, and tells the latest about something.",
         "actionField": "action", "effects": {"recall": "read", "note": "write"}, "idempotent": true, "confirms": true,
         "input": {"type": "object", "required": ["action", "about", "event"], "properties": {
             "action": {"type": "string", "enum": ["recall", "note"]}, "about": {"type": "string"},
             "event": {"type": ["object", "null"]}}},
         "output": {"type": "object", "required": ["about", "count", "latest"], "properties": {
             "about": {"type": "string"}, "count": {"type": "integer"},
             "latest": {"type": "array", "items": {"type": "object"}}}}}""";

    /** A note that was made: what was asked, and what was answered. */
    private record Done(Memory.Obj input, Memory.Obj output) {}

    private final Map<String, List<Object>> notes = new LinkedHashMap<>();
    private final Map<String, Integer> counts = new LinkedHashMap<>();
    private final Map<String, Done> done = new LinkedHashMap<>(); // by effect key, the oldest first
    private boolean forgot = false;

    public static void main(String[] args) throws Exception {
        new Memory.Server(CARD, new Journal()::observe).start(args.length == 2 ? Integer.parseInt(args[1]) : 8105);
    }

    /** One request at a time: what is remembered of a key is what was done. */
    synchronized Memory.Answer observe(Memory.Request request) {
        Memory.Obj input = request.input();
        boolean writes = input.text("action").equals("note");
        if (writes && input.get("event") != null) return once(request);
        if (writes || !input.text("action").equals("recall"))
            throw new Memory.Refusal("invalid_argument", "CONTRACT", "expected a recall, or a note with its event");
        if (request.confirmOnly())
            throw new Memory.Refusal("unimplemented", "VERB_NOT_OFFERED", "a recall changes nothing to be confirmed");
        return new Memory.Answer(recall(input.text("about")), false);
    }

    private Memory.Answer once(Memory.Request request) {
        String key = request.envelope().text("effectKey");
        Done before = done.get(key);
        Object variant = request.envelope().get("variant");
        if (variant instanceof Memory.Obj told && Boolean.TRUE.equals(told.get("mirror")))
            throw new Memory.Refusal("failed_precondition", "MIRROR_WRITE", "a mirror must write nothing");
        if (key.isEmpty())
            throw new Memory.Refusal("invalid_argument", "ENVELOPE", "/envelope/effectKey is missing: a note has one");
        if (before != null && before.input.equals(request.input())) return new Memory.Answer(before.output, true);
        if (before != null)
            throw new Memory.Refusal("already_exists", "KEY_CONFLICT", "this effect key was used with another request");
        if (request.confirmOnly() && forgot)
            throw new Memory.Refusal("aborted", "IN_DOUBT", "not every effect key is remembered any more");
        if (request.confirmOnly())
            throw new Memory.Refusal("not_found", "NOT_DONE", "nothing was done under this effect key");
        Memory.Obj output = note(request.input().text("about"), request.input().get("event"));
        done.put(key, new Done(request.input(), output));
        if (done.size() > MAX_KEYS) forgot = done.remove(done.keySet().iterator().next()) != null;
        return new Memory.Answer(output, false);
    }

    private Memory.Obj note(String about, Object event) {
        List<Object> mine = notes.computeIfAbsent(about, name -> new ArrayList<>());
        mine.add(event);
        if (mine.size() > MAX_NOTES) mine.remove(0);
        counts.merge(about, 1, Integer::sum);
        return recall(about);
    }

    private Memory.Obj recall(String about) {
        List<Object> mine = notes.getOrDefault(about, List.of());
        List<Object> latest = List.copyOf(mine.subList(Math.max(0, mine.size() - TOLD), mine.size()));
        return Memory.Obj.of("about", about, "count", counts.getOrDefault(about, 0), "latest", latest);
    }
}
