// What the customer's words say, as examples/retail/words reads them: events, things named, what is wanted with each.

package main

import (
	_ "embed"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

//go:embed lexicon.json
var lexiconText []byte

// lexicon is the shop's vocabulary, written by export_lexicon.py.
var lexicon = readLexicon()

type vocabulary struct {
	Products     map[string]string    `json:"products"`
	NumberWords  map[string]string    `json:"number_words"`
	OptionWords  map[string]string    `json:"option_words"`
	YesNo        map[string][2]string `json:"yes_no"`
	Scales       map[string][]string  `json:"scales"`
	Comparatives []struct {
		Words string   `json:"words"`
		Steps int      `json:"steps"`
		About []string `json:"about"`
	} `json:"comparatives"`
	States     map[string]string `json:"states"`
	CityStates map[string]string `json:"city_states"`
	CityNames  map[string]string `json:"city_names"`
	Units      map[string]string `json:"units"`
}

func readLexicon() (read vocabulary) {
	if err := json.Unmarshal(lexiconText, &read); err != nil {
		panic(err)
	}
	return read
}

// set of strings.
type set map[string]bool

func setOf(names ...string) set {
	made := set{}
	for _, name := range names {
		made[name] = true
	}
	return made
}

func (s set) key() string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, "|")
}

const (
	none    = "" // no intent
	toKeep  = "keep"
	toBack  = "return"
	toSwap  = "change"
	toStop  = "cancel"
	toPlace = "address"
)

// ------------------------------------------------------------------------------------------------------------- events

type kind int

const (
	sentence kind = iota
	verb
	thing
	except
	condition
	address
)

type event struct {
	start, end int
	kind       kind
	products   set // of a thing; empty means everything
	intent     string
	many       bool
}

var (
	orderID = re(`#?\bw\d{7}\b|#\d{7}\b`, "i")
	between = re(`(?<=[.!?;])\s+|\n+`)
	verbs   = re(`(?P<keep>\b(?:keep(?:ing)?\b))` +
		`|(?P<return>\b(?:return(?:ed|ing)?\b|send(?:ing)? back\b))` +
		`|(?P<cancel>\b(?:cancel(?!l?ed order)(?:l?ing|l?ed)?\b|remov(?:e|ing)\b|no longer (?:need|want)(?:ed)?\b))` +
		`|(?P<change>\b(?:exchang(?:e|ed|ing)\b|modif(?:y|ied|ying)\b|chang(?:e|ed|ing)\b(?! your mind)` +
		`|switch(?:ing)?\b(?! type)|swap(?:ping)?\b|replac(?:e|ed|ing)\b|upgrad(?:e|ing)\b|adjust(?:ing)?\b` +
		`|downgrad(?:e|ing)\b))`)
	everything = re(`\b(?:everything(?: else)?|all (?:the |your |of your |of the )?(?:\w+ )?(?:items|things|orders?)\b(?! address)` +
		`|(?<=return )(?:the |your |my )?orders?(?= |$|\.)` +
		`|(?:pending )?order items?|its (?:items?|(?=color))|the rest|(?:whole|entire) order)\b`)
	excepting  = re(`\b(?:except(?: for)?|but not|other than|apart from|besides|everything but)\b`)
	lastNamed  = re(`\b(?:return|cancel|returning|cancelling) (?:the|your) (?:[\w-]+ ){0,4}?(ones?)\b`)
	conditions = re(`\bif\b[^.;]*?(?:\bnot\b|n't\b|cannot|\bno\b|\bunable\b|\bissues?\b|impossible|\bfails?\b)|\botherwise\b`)
	addresses  = re(`(?<!mail )\baddress(?:es)?\b`)
	denied     = re(`(?:(?:\bnot|n't|\bnever)(?: \w+){0,3}|\bwhether(?: \w+){0,5}) $`)

	aliases = aliasTable()
	product = re(`(?<![\w-])(` + anyOf(aliases) + `)(s|es)?\b(?!-)`)
)

func aliasTable() map[string]set {
	table := map[string]set{}
	for name, called := range lexicon.Products {
		for _, alias := range strings.Split(called, "|") {
			if table[alias] == nil {
				table[alias] = set{}
			}
			table[alias][name] = true
		}
	}
	return table
}

func anyOf(table map[string]set) string {
	names := make([]string, 0, len(table))
	for alias := range table {
		names = append(names, alias)
	}
	return longestFirst(names, true)
}

func longestFirst(names []string, quote bool) string {
	sort.Slice(names, func(i, j int) bool {
		if len(names[i]) != len(names[j]) {
			return len(names[i]) > len(names[j])
		}
		return names[i] < names[j]
	})
	parts := make([]string, len(names))
	for i, name := range names {
		if parts[i] = name; quote {
			parts[i] = quoted(name)
		}
	}
	return strings.Join(parts, "|")
}

func eventsOf(low text) []event {
	var events []event
	for _, m := range between.all(low) {
		events = append(events, event{start: m.start(), end: m.end(), kind: sentence})
	}
	for _, m := range verbs.all(low) {
		if !denied.between(low, most(0, m.start()-40), m.start()) || m.name() == toKeep {
			events = append(events, event{start: m.start(), end: m.end(), kind: verb, intent: m.name()})
		}
	}
	events = append(events, thingsOf(low)...)
	for _, each := range []struct {
		kind    kind
		pattern *Pattern
	}{{except, excepting}, {condition, conditions}, {address, addresses}} {
		for _, m := range each.pattern.all(low) {
			events = append(events, event{start: m.start(), end: m.end(), kind: each.kind})
		}
	}
	sort.SliceStable(events, func(i, j int) bool {
		if events[i].start != events[j].start {
			return events[i].start < events[j].start
		}
		return events[i].end > events[j].end
	})
	return events
}

func thingsOf(low text) []event {
	var things []event
	for _, m := range product.all(low) {
		plural := m.group(2) != "" || strings.HasSuffix(m.group(1), "shelves")
		things = append(things, event{start: m.start(), end: m.end(), kind: thing, products: aliases[m.group(1)], many: plural})
	}
	named := things
	for _, m := range lastNamed.all(low) { // "return the cheaper one" speaks of the thing named last
		for i := len(named) - 1; i >= 0; i-- {
			if named[i].end <= m.start() {
				things = append(things, event{start: m.startOf(1), end: m.endOf(1), kind: thing,
					products: named[i].products, many: m.group(1) == "ones"})
				break
			}
		}
	}
	for _, m := range everything.all(low) {
		things = append(things, event{start: m.start(), end: m.end(), kind: thing, products: set{}, many: true})
	}
	return things
}

func leftOf(events []event, index int) int {
	for i := index - 1; i >= 0; i-- {
		bound := events[i].kind == verb || events[i].kind == thing || events[i].kind == sentence || events[i].kind == except
		if bound && events[i].end <= events[index].start {
			return events[i].end
		}
	}
	return 0
}

func rightOf(low text, events []event, index int) int {
	for _, e := range events[index+1:] {
		switch {
		case e.kind == thing && e.start >= events[index].end,
			e.kind == verb && (e.intent == toBack || e.intent == toStop),
			e.kind == address,
			e.kind == sentence && strings.Contains(string(low[e.start:e.end]), "\n"):
			return e.start
		}
	}
	return len(low)
}

func sentenceStart(events []event, index int) int {
	latest := 0
	for _, e := range events[:index] {
		if e.kind == sentence {
			latest = most(latest, e.end)
		}
	}
	return latest
}

func sentenceOf(low text, events []event, index int) string {
	end := len(low)
	for _, e := range events[index:] {
		if e.kind == sentence && e.start < end {
			end = e.start
		}
	}
	start := sentenceStart(events, index)
	if start > end {
		return ""
	}
	return string(low[start:end])
}

func orderIDs(s string) []string {
	var found []string
	for _, m := range orderID.all(text(s)) {
		id := strings.ToUpper(m.group(0))
		if !strings.HasPrefix(id, "#") {
			id = "#" + id
		}
		found = append(found, id)
	}
	return unique(found)
}

// ----------------------------------------------------------------------------------------------------------- mentions

// Mention is one place where the words name a thing, and what they say around it; fields as in words/mentions.py.
type Mention struct {
	products                       set
	intent                         string
	many, fallback, excepted, only bool
	have, wish, otherwise          string
	haveOptions, wishOptions       *Object
	orderIDs                       []string
	held                           string
	start                          int
}

type literal struct {
	at      int
	options *Object
}

var (
	question   = re(`\b(?:know|ask|check|tell|wonder|inquire|how many|how much|tracking|curious|total price)\b`)
	determiner = re(`.*(?:\b(?:the|a|an|your|my|this|that|which|and|or|for|to|of|any|just)\b|[,;(:])`, "s")
	several    = re(`\b(?:all|both|every|two|three)\b`)
	onlyThe    = re(`\bonly (?:\w+ ){0,2}(?:the|your) $`)
	companion  = re(`\b(?:with|goes with) (?:the|your|a) $`)
	isPending  = re(`\bpending\b|\b(?:just|recently) (?:ordered|placed)\b`)
	isHere     = re(`\b(?:received|delivered|arrived)\b`)
	into       = re(`\b(?:to|for|into|with) (?:a|an|another)\b[^,.;]*$`)
	becomes    = re(`\s*(\([^)]*\)|(?:that|which|you)\b(?:(?!\b(?:want|need|like)\b)[^.,;]){1,60}?)\s*\b(?:to|for|into)\b`)
	whichOne   = re(`\bwhich (?:of the )?(?:\w+ )?$`)
)

func mentionsOf(low text, literals []literal) []Mention {
	var found []Mention
	events := eventsOf(low)
	last, intent, fallback, excepted := none, none, false, false
	for index, e := range events {
		switch {
		case e.kind == sentence:
			if intent != none {
				last = intent
			}
			intent, fallback, excepted = none, false, false
		case e.kind == condition:
			fallback = true
		case e.kind == verb:
			intent, excepted = intentOfVerb(events, index), false
		case e.kind == except:
			excepted = true
		case e.kind == thing && (len(e.products) > 0 || intent != none):
			wanted := intent
			if wanted == none {
				wanted = intentOfThing(low, events, index, last)
			}
			if (wanted == toBack || wanted == toStop) && companion.between(low, most(0, e.start-20), e.start) {
				wanted = none // "the backpack that came with the vacuum" speaks of the backpack
			}
			mention := mentionAt(low, events, index, literals)
			mention.intent, mention.fallback, mention.excepted = wanted, fallback, excepted
			found = append(found, mention)
		}
	}
	return found
}

func intentOfVerb(events []event, index int) string {
	intent := events[index].intent
	if intent != toSwap {
		return intent
	}
	for _, later := range events[index+1:] {
		if later.kind == thing || later.kind == verb || later.kind == sentence {
			return intent
		}
		if later.kind == address {
			return toPlace
		}
	}
	return intent
}

func intentOfThing(low text, events []event, index int, last string) string {
	asks := question.between(low, sentenceStart(events, index), events[index].start)
	sentences := 0
	for _, e := range events[index+1:] {
		if e.kind == sentence {
			if sentences++; sentences > 1 || asks {
				break
			}
		} else if e.kind == verb && e.intent != toKeep {
			return e.intent
		} else if e.kind == thing && sentences > 0 {
			break
		}
	}
	if asks {
		return none
	}
	return last
}

func mentionAt(low text, events []event, index int, literals []literal) Mention {
	e := events[index]
	before := low[leftOf(events, index):e.start]
	after := ""
	if right := rightOf(low, events, index); right > e.end {
		after = string(low[e.end:right])
	}
	var mine []*Object
	for _, each := range literals {
		if e.end <= each.at && each.at <= e.end+len(text(after)) {
			mine = append(mine, each.options)
		}
	}
	have, wish := haveAndWish(string(before), after)
	wish, otherwise := splitCondition(wish)
	mention := Mention{
		products: e.products, have: have, wish: wish, otherwise: otherwise, start: e.start,
		many:     e.many || several.in(string(before[most(0, len(before)-25):])),
		only:     onlyThe.between(low, most(0, e.start-40), e.start),
		orderIDs: orderIDs(sentenceOf(low, events, index)),
		held:     heldAs(low, events, index),
	}
	if len(mine) > 1 {
		mention.haveOptions = mine[0]
	}
	if len(mine) > 0 {
		mention.wishOptions = mine[len(mine)-1]
	}
	return mention
}

func haveAndWish(before, after string) (string, string) {
	have := determiner.blank(before, "")
	if whichOne.in(before) { // "if asked for which lamp, it is the white one"
		return have + " " + after, ""
	}
	if into.in(before) { // "exchange it for a red lamp"
		return "", have + " ; " + after
	}
	if m := becomes.begins(after); m != nil { // "the bottle (750ml) for one of 1000ml"
		return have + " " + m.group(1), string(m.in[m.endOf(1):])
	}
	return have, after
}

func heldAs(low text, events []event, index int) string {
	e := events[index]
	left := sentenceStart(events, index)
	if len(e.products) > 0 {
		left = leftOf(events, index)
	}
	around := ""
	if left < e.end {
		around = string(low[left:e.end])
	}
	next, _, _ := strings.Cut(string(low[e.end:least(len(low), e.end+40)]), ".")
	around += " | " + next
	if isPending.in(around) {
		return "pending"
	}
	if isHere.in(around) {
		return "delivered"
	}
	word := ""
	for _, each := range events[:index] {
		if each.kind == verb && each.intent != toKeep {
			word = string(low[each.start:each.end])
		}
	}
	if strings.HasPrefix(word, "modif") {
		return "pending"
	}
	if strings.HasPrefix(word, "exchang") {
		return "delivered"
	}
	return ""
}

func splitCondition(wish string) (string, string) {
	m := conditions.find(wish)
	if m == nil {
		return wish, ""
	}
	return string(m.in[:m.start()]), string(m.in[m.end():])
}

// merged puts together what is said of one thing, with one intent, in several places.
func merged(found []Mention) []Mention {
	var result []Mention
	places := map[string]int{}
	for _, mention := range found {
		key := mention.intent + "/" + mention.products.key()
		if place, known := places[key]; known && mention.wishOptions == nil {
			result[place] = together(result[place], mention)
		} else {
			places[key] = len(result)
			result = append(result, mention)
		}
	}
	shared := make([]Mention, len(result))
	for i, mention := range result {
		shared[i] = mention
		follows := i+1 < len(result) && result[i+1].intent == mention.intent
		if follows && mention.wishOptions == nil && isBare(mention.wish) {
			shared[i].wish, shared[i].otherwise = result[i+1].wish, result[i+1].otherwise
		}
	}
	return shared
}

func isBare(wish string) bool {
	for _, word := range strings.Fields(wish) {
		switch strings.Trim(word, ",;") {
		case "", "and", "or", "the", "your":
		default:
			return false
		}
	}
	return true
}

func together(old, later Mention) Mention {
	told := " ; " + later.have + " ; " + later.wish
	if later.intent == toBack || later.intent == toStop || strings.Trim(later.wish, " .") == "" {
		old.have += told
	}
	old.otherwise += " ; " + later.otherwise
	if later.fallback {
		old.otherwise += told
	} else {
		old.wish += told
	}
	old.many = old.many || later.many
	old.only = old.only || (later.only && !later.fallback)
	old.excepted = old.excepted || later.excepted
	old.orderIDs = unique(append(append([]string{}, old.orderIDs...), later.orderIDs...))
	if old.held == "" {
		old.held = later.held
	}
	return old
}

// -------------------------------------------------------------------------------------------------------------- brief

// Brief is all that one customer's words say; fields as in words/brief.py.
type Brief struct {
	text                            string
	emails, zips, orderIDs, itemIDs []string
	names                           [][2]string
	mentions, things                []Mention
}

var (
	bareOrder = re(`(?<![\d#w])\b\d{7}\b`, "i")
	bareItem  = re(`(?<!\d)\d{10}(?!\d)`)
	email     = re(`[\w.+-]+@[\w-]+\.\w+`)
	zipCode   = re(`(?<![\d#_@.])\b\d{5}\b(?![\d@])`)
	home      = re(`\b(?:zip ?code|liv(?:e|ing)|resid\w+|zip|from|in)\b[^.\n]{0,60}?(?<!\d)(\d{5})(?!\d)`)
	userID    = re(`\b([a-z]+)_([a-z]+)_\d{4}\b`)
	fullName  = re(`(?:\b[Yy]ou are|\b[Yy]ou're|\bname is|\bcalled|\buser|\bI am|\bI'm)\s+([A-Z][a-z]+)\s+([A-Z][a-z]+)`)
	compound  = re(`\b(`+numberNames()+`)(?=[- ](?:piece|inch|foot|feet|ft|liter|cup|hour)\w*\b)`, "i")
	braces    = re(`\{[^{}]*\}`)
)

func numberNames() string {
	var names []string
	for name := range lexicon.NumberWords {
		names = append(names, name)
	}
	return longestFirst(names, false)
}

// briefs keeps what was read: every round of a conversation reads the same words again.
var briefs = struct {
	sync.Mutex
	of map[string]*Brief
}{of: map[string]*Brief{}}

const maxBriefs = 1024

func read(words string) *Brief {
	briefs.Lock()
	known := briefs.of[words]
	briefs.Unlock()
	if known != nil {
		return known
	}
	made := readAnew(words)
	briefs.Lock()
	defer briefs.Unlock()
	if len(briefs.of) >= maxBriefs {
		briefs.of = map[string]*Brief{}
	}
	briefs.of[words] = made
	return made
}

func readAnew(words string) *Brief {
	digits := compound.replace(words, func(m *Match) string { return lexicon.NumberWords[strings.ToLower(m.group(1))] })
	blank, literals := cutLiterals(digits)
	low := strings.ToLower(blank)
	found := mentionsOf(text(low), literals)
	in := text(words)
	brief := &Brief{text: low, mentions: found, things: merged(found)}
	brief.emails = unique(groups(email.all(in), 0))
	brief.zips = unique(append(groups(home.all(in), 1), groups(zipCode.all(in), 0)...))
	bare := groups(bareOrder.all(in), 0)
	for i := range bare {
		bare[i] = "#W" + bare[i]
	}
	brief.orderIDs = unique(append(orderIDs(words), bare...))
	brief.itemIDs = unique(groups(bareItem.all(in), 0))
	brief.names = namesIn(in)
	return brief
}

func namesIn(in text) [][2]string {
	var names [][2]string
	for _, m := range fullName.all(in) {
		names = append(names, [2]string{m.group(1), m.group(2)})
	}
	for _, m := range userID.all(in) {
		names = append(names, [2]string{capitalized(m.group(1)), capitalized(m.group(2))})
	}
	seen := map[[2]string]bool{}
	var distinct [][2]string
	for _, name := range names {
		if !seen[name] {
			distinct = append(distinct, name)
		}
		seen[name] = true
	}
	return distinct
}

// cutLiterals blanks out option dictionaries written in the words, such as {'color': 'blue'}, and returns them.
func cutLiterals(words string) (string, []literal) {
	var literals []literal
	in := text(words)
	for _, m := range braces.all(text(words)) {
		if options := readLiteral(m.in[m.start()+1 : m.end()-1]); options != nil {
			literals = append(literals, literal{m.start(), options})
			for i := m.start(); i < m.end(); i++ {
				in[i] = ' '
			}
		}
	}
	return string(in), literals
}

var literalPart = re(`\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?|True|False|None)\s*`)
var backslashed = re(`\\(.)`)

// readLiteral reads a flat dictionary of Python: texts, numbers, True, False and None. nil for anything else.
func readLiteral(in text) *Object {
	made := object()
	at := 0
	part := func() (string, bool) {
		m := literalPart.at(in, at)
		if m == nil {
			return "", false
		}
		at = m.end()
		value := m.group(1)
		if value[0] == '\'' || value[0] == '"' {
			value = backslashed.replace(value[1:len(value)-1], func(m *Match) string { return m.group(1) })
		}
		return value, true
	}
	if strings.TrimSpace(string(in)) == "" {
		return made
	}
	for {
		key, is := part()
		if !is || at >= len(in) || in[at] != ':' {
			return nil
		}
		at++
		value, is := part()
		if !is {
			return nil
		}
		made.set(key, value)
		if at < len(in) && in[at] != ',' {
			return nil
		}
		at++
		if at >= len(in) || strings.TrimSpace(string(in[at:])) == "" {
			return made
		}
	}
}

// --------------------------------------------------------------------------------------------------------------- small

func unique(found []string) []string {
	seen := set{}
	var distinct []string
	for _, each := range found {
		if !seen[each] {
			distinct = append(distinct, each)
		}
		seen[each] = true
	}
	return distinct
}

func groups(found []*Match, number int) []string {
	var texts []string
	for _, m := range found {
		texts = append(texts, m.group(number))
	}
	return texts
}

func contains(list []string, wanted string) bool {
	for _, each := range list {
		if each == wanted {
			return true
		}
	}
	return false
}

func most(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func least(a, b int) int { return -most(-a, -b) }

// capitalized is a word with its first character upper and the others lower.
func capitalized(word string) string {
	in := text(strings.ToLower(word))
	if len(in) > 0 {
		in[0] = unicode.ToUpper(in[0])
	}
	return string(in)
}

func whole(s string) int { n, _ := strconv.Atoi(s); return n }
