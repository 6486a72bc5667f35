// The executor of the retail example as a component in Go, behind the protocol over HTTP. Standard library only.
//
//	go build -o executor . && ./executor -port 8101
//
// This file is the whole of the protocol's side; what it serves is `resolve`, in the files beside it.

package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	name       = "executor"
	version    = "0.1.0"
	maxBody    = 4 << 20         // bytes; the facts of a long conversation are a tenth of it
	maxThrown  = 128 << 20       // bytes of a body that is too large which are read and thrown away, so that it can be said
	bodyTime   = 5 * time.Second // in which a request must have been sent
	outputForm = `{"type":"object","properties":{"tool":{"type":["string","null"]},"arguments":{"type":"object"}},
		"required":["tool","arguments"],"additionalProperties":false}`
)

//go:embed *.go lexicon.json
var sources embed.FS

var (
	digest   = digestOf(sources)
	places   = make(chan struct{}, 2*runtime.NumCPU())
	draining atomic.Bool
)

// digestOf is that of everything that decides what is answered: the program's own text.
func digestOf(files embed.FS) string {
	sum := sha256.New()
	entries, _ := files.ReadDir(".")
	for _, entry := range entries {
		content, _ := files.ReadFile(entry.Name())
		fmt.Fprintf(sum, "%s %d\n%s", entry.Name(), len(content), content)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:32]
}

// factTables are the fields of the facts without which nothing can be resolved.
var factTables = []string{"orders", "products", "items", "calls"}

func card() *Object {
	actions := asList(append([]string{"end", "soothe"}, tools...))
	tables, needed := object(), []any{}
	for _, each := range factTables {
		tables.set(each, object("type", "object"))
		needed = append(needed, each)
	}
	input := object(
		"type", "object",
		"properties", object(
			"action", object("type", "string", "enum", actions),
			"words", object("type", "string"),
			"facts", object("type", []any{"object", "null"}, "properties", tables, "required", needed)),
		"required", []any{"action", "words", "facts"},
		"additionalProperties", false)
	return object(
		"name", name, "version", version, "kind", "go", "digest", digest,
		"input", input, "output", json.RawMessage(outputForm),
		"effects", object("*", "pure"), "verbs", []any{"execute"}, "maxRequestBytes", maxBody,
		"description", "Finds the arguments of a chosen action in a customer's words and the facts.")
}

// ------------------------------------------------------------------------------------------------------------ failures

// failure is what a call is refused with: a google.rpc code, a reason of the protocol, and words for people.
type failure struct {
	code, reason, detail string
	violations           []any
	metadata             *Object
}

func (f *failure) Error() string { return f.detail }

func refuse(code, reason, detail string, values ...any) *failure {
	return &failure{code: code, reason: reason, detail: fmt.Sprintf(detail, values...)}
}

var statuses = map[string]int{
	"invalid_argument": 400, "failed_precondition": 400, "not_found": 404, "unimplemented": 501, "internal": 500,
	"deadline_exceeded": 504, "unavailable": 503,
}

func (f *failure) write(w http.ResponseWriter) {
	status := statuses[f.code]
	problem := object("type", "urn:acp:"+f.code, "title", http.StatusText(status), "status", status,
		"detail", f.detail, "code", f.code, "reason", f.reason, "domain", "acp")
	if f.violations != nil {
		problem.set("violations", f.violations)
	}
	if f.metadata != nil {
		problem.set("metadata", f.metadata)
	}
	write(w, status, "application/problem+json", problem)
}

func write(w http.ResponseWriter, status int, media string, body any) {
	text, _ := plain(body)
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever asked may have gone
}

// ------------------------------------------------------------------------------------------------------------ requests

// field is a field of a message by its JSON name, or by its name in the proto.
func field(message *Object, jsonName string) any {
	if value := message.get(jsonName); value != nil {
		return value
	}
	snake := regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(jsonName, func(c string) string {
		return "_" + strings.ToLower(c)
	})
	return message.get(snake)
}

func readMessage(w http.ResponseWriter, r *http.Request) (*Object, *failure) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" {
		return nil, refuse("invalid_argument", "MEDIA_TYPE", "Content-Type is %q; expected application/json", media)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxThrown)
		w.Header().Set("Connection", "close")
		return nil, refuse("invalid_argument", "TOO_LARGE", "the body has more than %d bytes", maxBody)
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, refuse("invalid_argument", "MALFORMED", "the body did not come whole")
	}
	value, err := parse(body)
	message, is := value.(*Object)
	if err != nil || !is || !utf8.Valid(body) {
		return nil, refuse("invalid_argument", "MALFORMED", "the body is no JSON object in UTF-8")
	}
	return message, nil
}

var versions = regexp.MustCompile(`^(\d{1,9})\.\d{1,9}$`)

func checkVersion(protocol string) *failure {
	parts := versions.FindStringSubmatch(protocol)
	if parts == nil {
		return refuse("invalid_argument", "ENVELOPE", "/envelope/protocol is %.80q; expected major.minor, such as 1.0", protocol)
	}
	if parts[1] != "1" {
		f := refuse("failed_precondition", "VERSION_UNSUPPORTED", "protocol %s is not spoken here; spoken is 1.0", protocol)
		f.metadata = object("supported_versions", "1.0")
		return f
	}
	return nil
}

// checkEnvelope gives when the answer is no longer useful; zero for never.
func checkEnvelope(envelope *Object, arrived time.Time) (time.Time, *failure) {
	var deadline time.Time
	protocol, _ := field(envelope, "protocol").(string)
	if f := checkVersion(protocol); f != nil {
		return deadline, f
	}
	for _, each := range []string{"runId", "stepPath"} {
		if given, _ := field(envelope, each).(string); given == "" {
			return deadline, refuse("invalid_argument", "ENVELOPE", "/envelope/%s is missing", each)
		}
	}
	if attempt, is := whole64(field(envelope, "attempt")); !is || attempt < 1 {
		return deadline, refuse("invalid_argument", "ENVELOPE", "/envelope/attempt is no number of 1 or more")
	}
	to, _ := field(envelope, "component").(*Object)
	if named := to.text("name"); named != "" && named != name {
		return deadline, refuse("not_found", "COMPONENT_UNKNOWN", "there is no component %.80q here; there is %s", named, name)
	}
	if pinned := to.text("digest"); pinned != "" && pinned != digest {
		return deadline, refuse("failed_precondition", "COMPONENT_CHANGED", "%s is %s here; the run was pinned to %.80s", name, digest, pinned)
	}
	if told := field(envelope, "remainingMs"); told != nil {
		remaining, is := whole64(told)
		if !is || remaining < 0 {
			return deadline, refuse("invalid_argument", "ENVELOPE", "/envelope/remainingMs is no number of milliseconds")
		}
		deadline = arrived.Add(time.Duration(remaining) * time.Millisecond)
		if remaining == 0 {
			return deadline, late()
		}
	}
	return deadline, nil
}

func late() *failure { return refuse("deadline_exceeded", "DEADLINE_PASSED", "no time is left") }

func whole64(value any) (int64, bool) {
	if s, is := value.(string); is { // the JSON mapping allows a number as text
		value = json.Number(s)
	}
	n, is := value.(json.Number)
	if !is {
		return 0, false
	}
	read, err := n.Int64()
	return read, err == nil
}

func inputOf(message *Object) (*Object, *failure) {
	if len(message.list("blobs")) > 0 {
		return nil, refuse("unimplemented", "BLOB_MISSING", "blobs are not taken here; send the value itself")
	}
	if written, _ := field(message, "inputJson").(string); written != "" {
		value, err := parse([]byte(written))
		if input, is := value.(*Object); err == nil && is {
			return input, nil
		}
		return nil, refuse("invalid_argument", "MALFORMED", "/inputJson is no JSON object")
	}
	value := message.get("input")
	if input, is := value.(*Object); is || value == nil {
		return input, nil
	}
	return nil, refuse("invalid_argument", "MALFORMED", "/input is no JSON object")
}

func checkInput(input *Object) *failure {
	var wrong []any
	tell := func(is bool, pointer, message string) {
		if !is {
			wrong = append(wrong, object("pointer", pointer, "message", message))
		}
	}
	_, known := resolvers[input.text("action")]
	tell(known, "/action", "is no action of the shop; the card lists them")
	_, isText := input.get("words").(string)
	tell(isText, "/words", "is no string")
	facts, isObject := input.get("facts").(*Object)
	tell(input.has("facts") && (isObject || input.get("facts") == nil), "/facts", "is neither an object nor null")
	for _, each := range factTables {
		tell(facts == nil || facts.object(each) != nil, "/facts/"+each, "is no object")
	}
	if input != nil {
		for _, key := range input.keys {
			tell(key == "action" || key == "words" || key == "facts", "/"+key, "is not known")
		}
	}
	if wrong == nil {
		return nil
	}
	first := wrong[0].(*Object)
	f := refuse("invalid_argument", "CONTRACT", "the input's %s %s", first.text("pointer"), first.text("message"))
	f.violations = wrong
	return f
}

// ------------------------------------------------------------------------------------------------------------- answers

func execute(w http.ResponseWriter, r *http.Request) *failure {
	arrived := time.Now()
	message, f := readMessage(w, r)
	if f != nil {
		return f
	}
	envelope, _ := message.get("envelope").(*Object)
	deadline, f := checkEnvelope(envelope, arrived)
	if f != nil {
		return f
	}
	if message.get("confirmOnly") == true {
		return refuse("unimplemented", "VERB_NOT_OFFERED", "%s changes nothing, so there is nothing to confirm", name)
	}
	input, f := inputOf(message)
	if f == nil {
		f = checkInput(input)
	}
	if f != nil {
		return f
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-r.Context().Done():
		return refuse("unavailable", "SHED", "the caller went away")
	}
	began := time.Now()
	if !deadline.IsZero() && began.After(deadline) {
		return late()
	}
	output, f := answer(input)
	if f != nil {
		return f
	}
	result := object("outcome", "ok", "queueMs", ms(began.Sub(arrived)), "serviceMs", ms(time.Since(began)),
		"component", object("name", name, "version", version, "digest", digest))
	write(w, http.StatusOK, "application/json", object("result", result, "output", output))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func answer(input *Object) (*Object, *failure) {
	action, facts := input.text("action"), input.object("facts")
	if facts == nil {
		facts = object("orders", object(), "products", object(), "items", object(), "calls", object())
	}
	resolved := resolvers[action](read(input.text("words")), facts)
	if resolved.arguments == nil {
		return nil, refuse("failed_precondition", "", "'%s' cannot be carried out: %s; choose from the available actions",
			action, resolved.missing)
	}
	var tool any
	if contains(tools, action) {
		tool = action
	}
	return object("tool", tool, "arguments", resolved.arguments), nil
}

func describe(w http.ResponseWriter, r *http.Request) *failure {
	asked := object()
	if r.Method == http.MethodPost {
		message, f := readMessage(w, r)
		if f != nil {
			return f
		}
		asked = message
	}
	if protocol := asked.text("protocol"); protocol != "" {
		if f := checkVersion(protocol); f != nil {
			return f
		}
	}
	if named := asked.text("component"); named != "" && named != name {
		return refuse("not_found", "COMPONENT_UNKNOWN", "there is no component %.80q here; there is %s", named, name)
	}
	write(w, http.StatusOK, "application/json", object("protocols", []any{"1.0"}, "cards", []any{card()}))
	return nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if recover() != nil { // nothing of the inside belongs on the wire
			refuse("internal", "", "%s failed on this request", name).write(w)
		}
	}()
	verb, isVerb := cutPrefix(r.URL.Path, "/acp/v1/")
	var f *failure
	switch {
	case r.URL.Path == "/livez" || (r.URL.Path == "/readyz" && !draining.Load()):
		write(w, http.StatusOK, "application/json", object("status", "ok"))
	case r.URL.Path == "/readyz":
		f = refuse("unavailable", "DRAINING", "%s is about to stop", name)
	case verb == "describe" && isVerb && (r.Method == http.MethodGet || r.Method == http.MethodPost):
		f = describe(w, r)
	case verb == "execute" && isVerb && r.Method == http.MethodPost:
		f = execute(w, r)
	case isVerb && contains([]string{"plan", "execute", "observe", "reflect", "vjp"}, verb):
		f = refuse("unimplemented", "VERB_NOT_OFFERED", "%s offers execute, by POST; it was asked for %s by %s", name, verb, r.Method)
	default:
		f = refuse("not_found", "", "nothing is served at %.80q; /acp/v1/execute and /acp/v1/describe are", r.URL.Path)
	}
	if f != nil {
		f.write(w)
	}
}

func main() {
	port := flag.Int("port", 8101, "port on this machine; 0 takes a free one")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		panic(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(serve), ReadTimeout: bodyTime, IdleTimeout: 2 * time.Minute}
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer done()
	stopped := make(chan struct{})
	go func() {
		<-stop.Done()
		draining.Store(true)
		_ = server.Shutdown(context.Background()) // what is being answered is answered
		close(stopped)
	}()
	fmt.Printf("%s listens at http://%s\n", name, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
	<-stopped
}

func cutPrefix(s, prefix string) (string, bool) {
	return strings.TrimPrefix(s, prefix), strings.HasPrefix(s, prefix)
}
