// Mentions of one thing put together: examples/retail/words/merging.py.

package main

import (
	"strings"
)

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
