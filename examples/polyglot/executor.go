// The executor of the retail workflow as a component in Go: makes a call of the shop out of the action that was chosen.
// One file, the standard library only:
//
//	go run executor.go --port 8101
//
// The first half is the component; the second is the protocol (docs/reference/protocol.md), which stays as it is in a
// component of your own.
package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	name     = "executor"
	version  = "0.2.0"
	verb     = "execute"
	maxBody  = 1 << 20         // bytes
	bodyTime = 5 * time.Second // in which a request must have come
)

type object = map[string]any

// ------------------------------------------------------------------------------------------------------- the component

// tools are the shop's, each with the arguments that it takes: several ids where the name ends in s, else a text.
var tools = map[string]string{
	"find_user_id_by_email":          "email",
	"find_user_id_by_name_zip":       "first_name last_name zip",
	"get_user_details":               "user_id",
	"get_order_details":              "order_id",
	"get_product_details":            "product_id",
	"get_item_details":               "item_id",
	"list_all_product_types":         "",
	"calculate":                      "expression",
	"cancel_pending_order":           "order_id reason",
	"exchange_delivered_order_items": "order_id item_ids new_item_ids payment_method_id",
	"modify_pending_order_address":   "order_id address1 address2 city state country zip",
	"modify_pending_order_items":     "order_id item_ids new_item_ids payment_method_id",
	"modify_pending_order_payment":   "order_id payment_method_id",
	"modify_user_address":            "user_id address1 address2 city state country zip",
	"return_delivered_order_items":   "order_id item_ids payment_method_id",
	"transfer_to_human_agents":       "summary",
}

// Input is the action that was chosen, and what the customer's words come to for each action: the arguments of a call,
// or why there is none.
type Input struct {
	Action string
	Calls  map[string]struct {
		Arguments json.RawMessage // goes on as it came: with its order, and 0.10 as 0.10
		Missing   string
	}
}

// Call is what the shop is asked; no tool where the action is to talk, or to end.
type Call struct {
	Tool      *string         `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// check finds the places that break the card's schema, beside those that types find.
func (in *Input) check() (violations []object) {
	if in.Action == "" {
		violations = append(violations, object{"pointer": "/action", "message": "is missing"})
	}
	if in.Calls == nil {
		violations = append(violations, object{"pointer": "/calls", "message": "is missing"})
	}
	return violations
}

// answer makes the call of the chosen action.
func answer(in *Input) (any, Refusal) {
	call, known := in.Calls[in.Action]
	takes, isTool := tools[in.Action]
	why := call.Missing
	switch {
	case !known:
		why = "there is no such action"
	case why == "" && isTool:
		why = unfit(takes, call.Arguments)
	}
	if why != "" {
		return nil, refuse("failed_precondition", "",
			"'%.80s' cannot be carried out: %s; choose from the available actions", in.Action, why)
	}
	if !isTool {
		return Call{nil, json.RawMessage("{}")}, nil
	}
	return Call{&in.Action, call.Arguments}, nil
}

// unfit says why the shop could do nothing with the arguments; nothing of such a call leaves here.
func unfit(takes string, arguments json.RawMessage) string {
	var told map[string]any
	if err := json.Unmarshal(arguments, &told); err != nil || told == nil {
		return "its arguments are missing, or no object"
	}
	fields := strings.Fields(takes)
	for _, field := range fields {
		_, isText := told[field].(string)
		_, isList := told[field].([]any)
		if several := strings.HasSuffix(field, "s"); isList != several || isText == several {
			return "its " + field + " is missing, or of another type"
		}
	}
	if len(told) > len(fields) {
		return "it takes nothing but " + takes
	}
	return ""
}

// card is what this component says of itself.
func card() object {
	return object{
		"name": name, "version": version, "kind": "go", "digest": digest, "verbs": []string{verb},
		"effects": object{"*": "pure"}, "maxRequestBytes": maxBody,
		"description": "Makes a call of the shop out of the action that was chosen.",
		"input": object{"type": "object", "required": []string{"action", "calls"}, "properties": object{
			"action": object{"type": "string", "examples": []string{"end"}},
			"calls": object{"type": "object", "examples": []object{{"end": object{"arguments": object{}}}},
				"additionalProperties": object{"type": "object", "properties": object{
					"arguments": object{"type": "object"}, "missing": object{"type": "string"}}}}}},
		"output": object{"type": "object", "required": []string{"tool", "arguments"}, "properties": object{
			"tool": object{"type": []string{"string", "null"}}, "arguments": object{"type": "object"}}},
	}
}

// -------------------------------------------------------------------------------------------------------- the protocol

// Request is what a step sends. Go takes runId for RunID, whatever the case; a field that is not known is passed over:
// that is how a newer minor version speaks.
type Request struct {
	Envelope    Envelope
	Input       json.RawMessage
	InputJSON   string // the same as text
	ConfirmOnly bool   // a question: what became of this request?
}

type Envelope struct {
	Protocol, RunID, StepPath string
	Attempt                   json.Number  // which text is, too, as in protobuf's JSON
	RemainingMs               *json.Number // nil for no deadline
	Component                 struct{ Name, Digest string }
}

func (e *Envelope) UnmarshalJSON(text []byte) error {
	type fields Envelope // the same without this method
	return decode(text, (*fields)(e))
}

// decode reads an object by its JSON names or by those of the proto: run_id is runId without its underscore.
func decode(text []byte, into any) error {
	var told map[string]json.RawMessage
	err := json.Unmarshal(text, &told)
	fields := map[string]json.RawMessage{}
	for field, value := range told {
		fields[strings.ReplaceAll(field, "_", "")] = value
	}
	if again, _ := json.Marshal(fields); err == nil {
		err = json.Unmarshal(again, into)
	}
	return err
}

// Refusal is why a call is not answered, as a problem document (RFC 9457).
type Refusal object

var statuses = map[string]int{"invalid_argument": 400, "failed_precondition": 400, "not_found": 404, "internal": 500,
	"unimplemented": 501, "deadline_exceeded": 504}

// refuse takes a google.rpc code, which decides whether a retry can help, a reason of the protocol, words for people.
func refuse(code, reason, detail string, values ...any) Refusal {
	status := statuses[code]
	return Refusal{"type": "urn:acp:" + code, "title": http.StatusText(status), "status": status, "code": code,
		"reason": reason, "domain": "acp", "detail": fmt.Sprintf(detail, values...)}
}

// with adds what a program can use of a refusal.
func (r Refusal) with(field string, value any) Refusal {
	r[field] = value
	return r
}

func handle(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	reply, refusal := route(r)
	media, status := "application/json", http.StatusOK
	if refusal != nil {
		reply, media, status = object(refusal), "application/problem+json", refusal["status"].(int)
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply) // whoever asked may have gone
}

func route(r *http.Request) (object, Refusal) {
	switch asked := strings.TrimPrefix(r.URL.Path, "/acp/v1/"); {
	case asked == "/livez" || asked == "/readyz": // a server that is about to stop takes no connection any more
		return object{"status": "ok"}, nil
	case asked == "describe":
		return describe(r)
	case asked == verb && r.Method == http.MethodPost:
		return call(r)
	case asked != r.URL.Path:
		return nil, refuse("unimplemented", "VERB_NOT_OFFERED",
			"%s by POST is offered, not %.80q by %s", verb, asked, r.Method)
	}
	return nil, refuse("not_found", "", "nothing is served at %.80q; /acp/v1/%s is", r.URL.Path, verb)
}

// read takes a message of limited size, in limited time.
func read(r *http.Request, message any) Refusal {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return refuse("invalid_argument", "MEDIA_TYPE", "Content-Type is %.80q; expected application/json", media)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return refuse("invalid_argument", "MALFORMED",
			"the body did not come whole within %v, or has more than %d bytes", bodyTime, maxBody)
	}
	if err := decode(text, message); err != nil || !utf8.Valid(text) {
		return refuse("invalid_argument", "MALFORMED", "the body is no message in JSON and UTF-8")
	}
	return nil
}

// describe tells what is served here. People ask by GET, and without a version.
func describe(r *http.Request) (object, Refusal) {
	asked := struct{ Protocol, Component string }{Protocol: "1.0"}
	if r.Method == http.MethodPost {
		if refusal := read(r, &asked); refusal != nil {
			return nil, refusal
		}
	}
	if refusal := checkWhom(asked.Protocol, asked.Component); refusal != nil {
		return nil, refusal
	}
	return object{"protocols": []string{"1.0"}, "cards": []object{card()}}, nil
}

var versions = regexp.MustCompile(`^(\d+)\.\d+$`)

func checkWhom(protocol, component string) Refusal {
	parts := versions.FindStringSubmatch(protocol)
	if parts == nil {
		return refuse("invalid_argument", "ENVELOPE", "/envelope/protocol is %.80q; expected such as 1.0", protocol)
	}
	if parts[1] != "1" { // every minor version is answered; another major may mean something else by the same fields
		return refuse("failed_precondition", "VERSION_UNSUPPORTED", "%.80s is not spoken here; 1.0 is", protocol).
			with("metadata", object{"supported_versions": "1.0"})
	}
	if component != "" && component != name {
		return refuse("not_found", "COMPONENT_UNKNOWN", "there is no %.80q here; there is %s", component, name)
	}
	return nil
}

// check finds what is missing or absurd in an envelope, before anything of the input is looked at.
func (e *Envelope) check() Refusal {
	if refusal := checkWhom(e.Protocol, e.Component.Name); refusal != nil {
		return refusal
	}
	if attempt, _ := e.Attempt.Int64(); attempt < 1 || e.RunID == "" || e.StepPath == "" {
		return refuse("invalid_argument", "ENVELOPE", "/envelope needs runId, stepPath, and an attempt of 1 or more")
	}
	if pinned := e.Component.Digest; pinned != "" && pinned != digest {
		return refuse("failed_precondition", "COMPONENT_CHANGED", "here is %s; the run has %.80q", digest, pinned)
	}
	if e.RemainingMs != nil { // the answer takes microseconds; what takes long looks at the time while it works, too
		if left, err := e.RemainingMs.Int64(); err != nil || left <= 0 {
			return refuse("deadline_exceeded", "DEADLINE_PASSED", "no time is left: remainingMs is %s", *e.RemainingMs).
				with("metadata", object{"sent": "no"}) // nothing was done
		}
	}
	return nil
}

// call answers a step.
func call(r *http.Request) (object, Refusal) {
	arrived := time.Now()
	var request Request
	if refusal := read(r, &request); refusal != nil {
		return nil, refusal
	}
	if refusal := request.Envelope.check(); refusal != nil {
		return nil, refusal
	}
	if request.ConfirmOnly {
		return nil, refuse("unimplemented", "VERB_NOT_OFFERED", "%s changes nothing that could be confirmed", name)
	}
	input, text := Input{}, request.Input
	if request.InputJSON != "" {
		text = []byte(request.InputJSON)
	}
	violations := []object{{"pointer": "", "message": "is no object of the card's types"}}
	if json.Unmarshal(text, &input) == nil {
		violations = input.check()
	}
	if violations != nil {
		return nil, refuse("invalid_argument", "CONTRACT", "the input does not fit the card: %v", violations).
			with("violations", violations)
	}
	output, refusal := answer(&input)
	result := object{"outcome": "ok", "serviceMs": float64(time.Since(arrived).Microseconds()) / 1000,
		"component": object{"name": name, "version": version, "digest": digest}}
	if request.InputJSON != "" { // answered in the form in which it was asked
		written, _ := json.Marshal(output)
		return object{"result": result, "outputJson": string(written)}, refusal
	}
	return object{"result": result, "output": output}, refusal
}

//go:embed executor.go
var source []byte

// digest is of all that decides what is answered: a run is pinned to it.
var digest = fmt.Sprintf("%x", sha256.Sum256(source))[:32]

func main() {
	port := flag.Int("port", 8101, "port on this machine; 0 takes a free one")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(handle), ReadTimeout: bodyTime, IdleTimeout: 2 * time.Minute}
	stop, done := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer done()
	go func() { _ = server.Serve(listener) }()
	fmt.Printf("%s listens at http://%s\n", name, listener.Addr())
	<-stop.Done()
	_ = server.Shutdown(context.Background()) // what is being answered is answered
}
