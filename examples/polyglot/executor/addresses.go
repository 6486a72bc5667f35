// Which address a customer means, written out in the words or known to the shop: examples/retail/resolving/addresses.py.

package main

import (
	"strings"
)

const streets = `street|st|drive|dr|avenue|ave|road|rd|lane|ln|highway|hwy|boulevard|blvd|court|ct|way|place|pl|circle|parkway`

var (
	writtenOut = re(`\b(\d+ (?:[a-z]+ )*?(?:` + streets + `)\b\.?),? ([^.;()\n]{2,60}?),? (\d{5})\b`)
	cityNames  = citiesByName()
	city       = re(`\b(?:` + longestFirst(sortedNames(namesOf(cityNames)), false) + `)\b`)
	backTo     = re(`\bback to (?:the|your|my) original`)
	aboutMoves = re(`\baddress|\bship|\bsent\b|\bplace\b|\bmove|\bhome\b`)
	movesTo    = re(`\b(?:to|match) (?:be )?`)
	toDefault  = re(`^(?:the |your |my )?(?:\w+ )?(?:default|profile|user|home)\b`)
	sameAs     = re(`\b(?:as|to|match|from|with) (?:(?:be|the|your|same|address|one|that|as|of|in|for|on|used|other) )*` +
		`(?:order )?(#w\d{7})`)
	sentTo  = re(`\b(?:sent|shipped|delivered) to (?:this|the|that|there|your)\b`)
	suite   = re(`(?:suite|apt|apartment|unit|#) ?\w+`)
	fields  = []string{"address1", "address2", "city", "state", "country", "zip"}
	states  = namesOf(lexicon.States)
	stateOf = stateCodes()
)

func citiesByName() map[string]string {
	names := map[string]string{}
	for name := range lexicon.CityStates {
		names[name] = titled(name)
	}
	for nickname, name := range lexicon.CityNames {
		names[nickname] = name
	}
	return names
}

func namesOf(table map[string]string) set {
	names := set{}
	for name := range table {
		names[name] = true
	}
	return names
}

func stateCodes() set {
	codes := set{}
	for _, code := range lexicon.States {
		codes[code] = true
	}
	return codes
}

func titled(words string) string {
	parts := strings.Fields(words)
	for i := range parts {
		parts[i] = capitalized(parts[i])
	}
	return strings.Join(parts, " ")
}

// written is an address spelt out in the words, or nil.
func written(words string) *Object {
	for _, m := range writtenOut.all(text(words)) {
		var parts []string
		for _, part := range strings.Split(m.group(2), ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		second := ""
		if len(parts) > 0 && suite.whole(parts[0]) != nil {
			second, parts = parts[0], parts[1:]
		}
		if in, state := placeOf(parts); state != "" {
			return object("address1", titled(m.group(1)), "address2", titled(second), "city", in, "state", state,
				"country", "USA", "zip", m.group(3))
		}
	}
	return nil
}

func placeOf(parts []string) (string, string) {
	var kept []string
	for _, part := range parts {
		if part != "usa" && part != "us" && part != "united states" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "", ""
	}
	if len(kept) == 1 {
		if at := strings.LastIndex(kept[0], " "); at > 0 && stateOf[strings.ToUpper(kept[0][at+1:])] {
			kept = []string{kept[0][:at], kept[0][at+1:]}
		}
	}
	state := ""
	if len(kept) > 1 {
		state = kept[1]
	}
	return titled(kept[0]), stateFor(state, kept[0])
}

func stateFor(state, in string) string {
	if stateOf[strings.ToUpper(state)] {
		return strings.ToUpper(state)
	}
	if states[state] {
		return lexicon.States[state]
	}
	return lexicon.CityStates[in]
}

func cities(words string) []string {
	var found []string
	for _, m := range city.all(text(words)) {
		found = append(found, cityNames[m.group(0)])
	}
	return found
}

func distinct(addresses []*Object) []*Object {
	var kept []*Object
	for _, each := range addresses {
		known := false
		for _, other := range kept {
			known = known || same(each, other)
		}
		if !known {
			kept = append(kept, each)
		}
	}
	return kept
}

func knownAddresses(facts *Object) []*Object {
	var known []*Object
	if user := facts.object("user"); user != nil {
		known = append(known, user.object("address"))
	}
	facts.object("orders").each(func(_ string, order *Object) { known = append(known, order.object("address")) })
	return distinct(known)
}

// addressesMeant are those that the words may ask to change something to, likeliest first.
func addressesMeant(brief *Brief, facts *Object) []*Object {
	for _, each := range facts.list("done") { // the customer moves to one place
		arguments := each.(*Object).object("arguments")
		if !arguments.has("zip") {
			continue
		}
		given := object()
		for _, field := range fields {
			given.set(field, arguments.values[field])
		}
		if home := facts.object("home"); home != nil && backTo.in(brief.text) {
			return []*Object{given, home}
		}
		return []*Object{given}
	}
	if spelt := written(brief.text); spelt != nil {
		return []*Object{spelt}
	}
	var usual *Object
	if user := facts.object("user"); user != nil {
		usual = user.object("address")
	}
	meant := addressesOfOrders(brief, facts)
	known := knownAddresses(facts)
	inCities := func(words string) {
		for _, name := range cities(words) {
			for _, each := range known {
				if each.text("city") == name {
					meant = append(meant, each)
				}
			}
		}
	}
	for _, part := range targets(brief.text) {
		if usual != nil && toDefault.in(part) {
			meant = append(meant, usual)
		}
		inCities(part)
	}
	inCities(brief.text)
	for _, each := range known {
		if usual == nil || !same(each, usual) {
			meant = append(meant, each)
		}
	}
	if usual != nil {
		meant = append(meant, usual)
	}
	return distinct(meant)
}

// targets is what stands after the last "to" of each sentence on an address or a move, likeliest first.
func targets(words string) []string {
	var parts []string
	for _, sentence := range between.split(words) {
		if !aboutMoves.in(sentence) {
			continue
		}
		in := text(sentence)
		tos := movesTo.all(in)
		for i := len(tos) - 1; i >= 0; i-- {
			parts = append(parts, string(in[tos[i].end():least(len(in), tos[i].end()+60)]))
		}
	}
	return parts
}

func addressesOfOrders(brief *Brief, facts *Object) []*Object {
	var found []*Object
	in := text(brief.text)
	for _, m := range sameAs.all(in) {
		if order := facts.object("orders").object(strings.ToUpper(m.group(1))); order != nil {
			found = append(found, order.object("address"))
		}
	}
	for _, mention := range brief.mentions {
		wish := text(mention.wish)
		if sentAfter(in, mention.start+3) || sentTo.in(string(wish[:least(len(wish), 40)])) {
			facts.object("orders").each(func(_ string, order *Object) {
				if holds(order, mention.products) {
					found = append(found, order.object("address"))
				}
			})
		}
	}
	return found
}

// sentAfter says whether "sent to this" stands just at the first blank from a place; without a blank Python's -1 counts
// as the start.
func sentAfter(in text, from int) bool {
	at := 0
	for i := from; i < len(in); i++ {
		if in[i] == ' ' {
			at = i
			break
		}
	}
	return sentTo.at(in, at) != nil
}

func differs(a, b *Object) bool {
	for _, key := range a.keys {
		if !same(a.values[key], b.values[key]) {
			return true
		}
	}
	return false
}
