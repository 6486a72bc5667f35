// Which things the words name, and what they want done with each: examples/retail/words/mentions.py.

package main

import (
	"strings"
)

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
