// The words cut into events: a verb, a thing, the end of a sentence: examples/retail/words/events.py.

package main

import (
	"sort"
	"strings"
)

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
