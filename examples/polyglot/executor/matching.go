// From things named in the words to items in the customer's orders: examples/retail/resolving/matching.py.

package main

import (
	"fmt"
)

// found is an item of a known order that the customer means.
type found struct {
	orderID string
	place   int
	item    *Object
	mention Mention
}

var (
	byPriceWords = re(`\b(?P<dear>(?:more|most) expensive|pricier|priciest|expensive one)|\b(?P<cheap>(?:less|least) expensive|cheaper)\b`)
	thatOrder    = re(`\bin (?:it|that|the|this)\b|\bjust (?:bought|received|got|ordered)\b`)
	doneBy       = map[string]string{
		"return_delivered_order_items":   toBack,
		"exchange_delivered_order_items": toSwap,
		"modify_pending_order_items":     toSwap,
	}
	anyIntent = setOf(toBack, toSwap, toStop, toPlace, none)
)

func place(id string, at int) string { return fmt.Sprintf("%s/%d", id, at) }

func meant(brief *Brief, facts *Object, intents set, status string) []found {
	orders := ordersOf(facts, func(order *Object) bool { return order.text("status") == status })
	excluded := set{}
	for _, m := range brief.mentions {
		if m.excepted || m.intent == toKeep {
			for name := range m.products {
				excluded[name] = true
			}
		}
	}
	hits, taken := map[string]found{}, set{}
	for _, mention := range live(brief, facts, intents) {
		if mention.held != "" && mention.held != status && inStatus(mention, facts, mention.held) {
			continue
		}
		for _, hit := range hitsOf(mention, orders, excluded, brief, taken) {
			at := place(hit.orderID, hit.place)
			if old, known := hits[at]; known {
				hit = bothOf(old, hit)
			}
			hits[at] = hit
			if mention.wishOptions != nil {
				taken[at] = true
			}
		}
	}
	var sorted []found
	for _, id := range orders.keys {
		for at := range orders.object(id).list("items") {
			if hit, is := hits[place(id, at)]; is {
				sorted = append(sorted, hit)
			}
		}
	}
	return sorted
}

func inStatus(mention Mention, facts *Object, status string) bool {
	any := false
	facts.object("orders").each(func(_ string, order *Object) {
		any = any || (order.text("status") == status && holds(order, mention.products))
	})
	return any
}

func keep(mentions []Mention, fits func(m Mention) bool) []Mention {
	var kept []Mention
	for _, m := range mentions {
		if fits(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func live(brief *Brief, facts *Object, intents set) []Mention {
	kept := keep(brief.things, func(m Mention) bool { return intents[m.intent] && !m.excepted })
	if len(intents) > 1 {
		if named := keep(kept, func(m Mention) bool { return len(m.products) > 0 }); len(named) > 0 {
			kept = named
		}
	}
	if only := keep(kept, func(m Mention) bool { return m.only }); len(only) > 0 {
		kept = only
	}
	done := doneWith(facts)
	return keep(kept, func(m Mention) bool {
		if m.many && !(len(m.products) > 0 && byPriceWords.in(m.have)) {
			return true
		}
		for name := range m.products {
			if done[m.intent+"/"+name] {
				return false
			}
		}
		return true
	})
}

// doneWith is what was done with which product types.
func doneWith(facts *Object) set {
	names := map[any]string{}
	facts.object("orders").each(func(_ string, order *Object) {
		anyItem(order, func(item *Object) bool { names[item.values["item_id"]] = item.text("name"); return false })
	})
	done := set{}
	for _, each := range facts.list("done") {
		made := each.(*Object)
		intent, is := doneBy[made.text("tool")]
		if !is {
			continue
		}
		arguments := made.object("arguments")
		for _, field := range []string{"item_ids", "new_item_ids"} {
			for _, id := range arguments.list(field) {
				if name, known := names[id]; known {
					done[intent+"/"+name] = true
				}
			}
		}
	}
	return done
}

func bothOf(old, later found) found {
	if len(old.mention.products) == 0 || len(later.mention.products) == 0 {
		old.mention.wish += " ; " + later.mention.wish
	}
	return old
}

func hitsOf(mention Mention, orders *Object, excluded set, brief *Brief, taken set) []found {
	var all []found
	scopeOf(mention, orders, brief).each(func(id string, order *Object) {
		for at, item := range order.list("items") {
			if !taken[place(id, at)] {
				all = append(all, found{id, at, item.(*Object), mention})
			}
		}
	})
	if len(mention.products) == 0 {
		return everythingBut(all, excluded, mention)
	}
	var hits []found
	for _, hit := range all {
		if mention.products[hit.item.text("name")] {
			hits = append(hits, hit)
		}
	}
	if len(hits) > 1 {
		return narrow(mention, hits, orders, brief)
	}
	return hits
}

func scopeOf(mention Mention, orders *Object, brief *Brief) *Object {
	ids := mention.orderIDs
	if len(ids) == 0 && len(brief.orderIDs) == 1 {
		ids = brief.orderIDs
	}
	named := object()
	orders.each(func(id string, order *Object) {
		if contains(ids, id) {
			named.set(id, order)
		}
	})
	if len(named.keys) > 0 || len(ids) > 0 {
		return named
	}
	return orders
}

func everythingBut(hits []found, excluded set, mention Mention) []found {
	hold := set{}
	for _, hit := range hits {
		if excluded[hit.item.text("name")] {
			hold[hit.orderID] = true
		}
	}
	one := len(hold) > 0 && thatOrder.in(mention.wish)
	var kept []found
	for _, hit := range hits {
		if !excluded[hit.item.text("name")] && (!one || hold[hit.orderID]) {
			kept = append(kept, hit)
		}
	}
	return kept
}

func narrow(mention Mention, hits []found, orders *Object, brief *Brief) []found {
	if mention.haveOptions != nil {
		for _, hit := range hits {
			fits := true
			for _, key := range mention.haveOptions.keys {
				value, is := optionOf(hit.item, key)
				fits = fits && is && value == mention.haveOptions.text(key)
			}
			if fits {
				return []found{hit}
			}
		}
		return nil
	}
	about := mention.have
	if mention.intent != toSwap {
		about += " " + mention.wish
	}
	hits = topBy(hits, func(hit found) int { return told(hit.item, about) })
	if prices := byPriceWords.all(text(about)); len(prices) > 0 {
		dear := prices[len(prices)-1].name() == "dear"
		chosen := hits[0]
		for _, hit := range hits[1:] {
			price, now := hit.item.number("price"), chosen.item.number("price")
			if (dear && price > now) || (!dear && price < now) {
				chosen = hit
			}
		}
		return []found{chosen}
	}
	if mention.many {
		return hits
	}
	context := set{}
	for _, m := range brief.mentions {
		for name := range m.products {
			context[name] = true
		}
	}
	return topBy(hits, func(hit found) int {
		shared := set{}
		anyItem(orders.object(hit.orderID), func(item *Object) bool {
			if context[item.text("name")] {
				shared[item.text("name")] = true
			}
			return false
		})
		return len(shared)
	})[:1]
}

func topBy(hits []found, score func(hit found) int) []found {
	scores, top := make([]int, len(hits)), -1
	for i, hit := range hits {
		scores[i] = score(hit)
		top = most(top, scores[i])
	}
	var kept []found
	for i, hit := range hits {
		if scores[i] == top {
			kept = append(kept, hit)
		}
	}
	return kept
}

// told is how many of the item's option values the words name.
func told(item *Object, about string) int {
	count := 0
	for _, key := range item.object("options").keys {
		if value, is := optionOf(item, key); is && len(toldValues(about, key, []string{value})) > 0 {
			count++
		}
	}
	return count
}
