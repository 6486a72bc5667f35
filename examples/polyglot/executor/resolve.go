// From the words and the facts to a tool's arguments, as examples/retail/resolving finds them.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// resolution is either arguments or why there are none.
type resolution struct {
	arguments *Object
	missing   string
}

func call(arguments *Object) resolution { return resolution{arguments: arguments} }
func lacking(why string) resolution     { return resolution{missing: why} }

type resolver func(brief *Brief, facts *Object) resolution

var tools = []string{
	"find_user_id_by_email", "find_user_id_by_name_zip", "get_user_details", "get_order_details",
	"get_product_details", "get_item_details", "list_all_product_types", "calculate",
	"cancel_pending_order", "exchange_delivered_order_items", "modify_pending_order_address",
	"modify_pending_order_items", "modify_pending_order_payment", "modify_user_address",
	"return_delivered_order_items", "transfer_to_human_agents",
}

// resolvers say how each action's arguments are found; those after the tools call nothing.
var resolvers = map[string]resolver{
	"find_user_id_by_email":          findByEmail,
	"find_user_id_by_name_zip":       findByName,
	"get_user_details":               getUser,
	"get_order_details":              getOrder,
	"get_product_details":            getProduct,
	"get_item_details":               getItem,
	"list_all_product_types":         listProducts,
	"calculate":                      calculate,
	"return_delivered_order_items":   returnItems,
	"exchange_delivered_order_items": changeItems("exchange_delivered_order_items", "delivered"),
	"modify_pending_order_items":     changeItems("modify_pending_order_items", "pending"),
	"cancel_pending_order":           cancel,
	"modify_pending_order_address":   orderAddress,
	"modify_user_address":            userAddress,
	"modify_pending_order_payment":   orderPayment,
	"transfer_to_human_agents":       transfer,
	"soothe":                         soothe,
	"end":                            func(*Brief, *Object) resolution { return call(object()) },
}

// tried says whether this very call was made before, with success or without.
func tried(facts *Object, tool string, arguments *Object) bool {
	for _, field := range []string{"done", "failed"} {
		for _, each := range facts.list(field) {
			made := each.(*Object)
			if made.text("tool") == tool && same(made.values["arguments"], arguments) {
				return true
			}
		}
	}
	return false
}

func anyItem(order *Object, fits func(item *Object) bool) bool {
	for _, each := range order.list("items") {
		if fits(each.(*Object)) {
			return true
		}
	}
	return false
}

func holds(order *Object, products set) bool {
	return anyItem(order, func(item *Object) bool { return products[item.text("name")] })
}

func ordersOf(facts *Object, fits func(order *Object) bool) *Object {
	kept := object()
	facts.object("orders").each(func(id string, order *Object) {
		if fits(order) {
			kept.set(id, order)
		}
	})
	return kept
}

func asList(values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// --------------------------------------------------------------------------------------------------------------- reads

func findByEmail(brief *Brief, facts *Object) resolution {
	if facts.text("user_id") != "" {
		return lacking("the customer is known already")
	}
	for _, email := range brief.emails {
		if arguments := object("email", email); !tried(facts, "find_user_id_by_email", arguments) {
			return call(arguments)
		}
	}
	return lacking("no untried email address in the words")
}

func findByName(brief *Brief, facts *Object) resolution {
	if facts.text("user_id") != "" {
		return lacking("the customer is known already")
	}
	for _, name := range brief.names {
		for _, code := range brief.zips {
			arguments := object("first_name", name[0], "last_name", name[1], "zip", code)
			if !tried(facts, "find_user_id_by_name_zip", arguments) {
				return call(arguments)
			}
		}
	}
	return lacking("no untried name with a zip code in the words")
}

func getUser(_ *Brief, facts *Object) resolution {
	if facts.text("user_id") == "" {
		return lacking("the customer is not known yet")
	}
	if facts.object("user") != nil {
		return lacking("the profile is known already")
	}
	return call(object("user_id", facts.text("user_id")))
}

func getOrder(brief *Brief, facts *Object) resolution {
	candidates := asList(brief.orderIDs)
	if user := facts.object("user"); user != nil {
		candidates = append(candidates, user.list("orders")...)
	}
	for _, id := range candidates {
		arguments := object("order_id", id)
		if !facts.object("orders").has(id.(string)) && !tried(facts, "get_order_details", arguments) {
			return call(arguments)
		}
	}
	return lacking("every order named or listed is known")
}

func getProduct(brief *Brief, facts *Object) resolution {
	wanted, named, everything := set{}, set{}, false
	for _, m := range brief.mentions {
		everything = everything || (m.intent == toSwap && len(m.products) == 0)
		for name := range m.products {
			named[name] = true
			if m.intent == toSwap {
				wanted[name] = true
			}
		}
	}
	known := facts.object("products")
	for _, changing := range []bool{true, false} {
		found := ""
		facts.object("orders").each(func(_ string, order *Object) {
			anyItem(order, func(item *Object) bool {
				name := item.text("name")
				fits := (changing && (wanted[name] || everything)) || (!changing && named[name])
				if fits && found == "" && !known.has(item.text("product_id")) {
					found = item.text("product_id")
				}
				return found != ""
			})
		})
		if found != "" {
			return call(object("product_id", found))
		}
	}
	if catalogue := facts.object("catalogue"); catalogue != nil {
		for _, name := range catalogue.keys {
			if named[name] && !known.has(catalogue.text(name)) {
				return call(object("product_id", catalogue.values[name]))
			}
		}
	}
	return lacking("every product named is known, or in no order known yet")
}

func getItem(brief *Brief, facts *Object) resolution {
	for _, id := range brief.itemIDs {
		arguments := object("item_id", id)
		if !facts.object("items").has(id) && !tried(facts, "get_item_details", arguments) {
			return call(arguments)
		}
	}
	return lacking("no unknown item id in the words")
}

func listProducts(brief *Brief, facts *Object) resolution {
	if catalogue := facts.object("catalogue"); catalogue != nil && len(catalogue.keys) > 0 {
		return lacking("the catalogue is known")
	}
	ordered := set{}
	facts.object("orders").each(func(_ string, order *Object) {
		anyItem(order, func(item *Object) bool { ordered[item.text("name")] = true; return false })
	})
	for _, m := range brief.mentions {
		sought := len(m.products) > 0
		for name := range m.products {
			sought = sought && !ordered[name]
		}
		if sought {
			return call(object())
		}
	}
	return lacking("every product named is in an order that is known")
}

func calculate(_ *Brief, facts *Object) resolution {
	dealt := map[string]any{} // order → its items that were dealt with, nil for all
	isDealt := set{}
	for _, each := range facts.list("done") {
		arguments := each.(*Object).object("arguments")
		isDealt[arguments.text("order_id")] = true
		dealt[arguments.text("order_id")] = arguments.values["item_ids"]
	}
	var prices []string
	facts.object("orders").each(func(id string, order *Object) {
		items, some := dealt[id].([]any)
		anyItem(order, func(item *Object) bool {
			in := !some
			for _, each := range items {
				in = in || each == item.values["item_id"]
			}
			if isDealt[id] && in {
				prices = append(prices, string(item.values["price"].(json.Number)))
			}
			return false
		})
	})
	expression := strings.Join(prices, " + ")
	for _, sum := range facts.list("sums") {
		if sum == expression {
			prices = nil
		}
	}
	if len(prices) == 0 {
		return lacking("nothing new was dealt with that has a price")
	}
	return call(object("expression", expression))
}

func soothe(_ *Brief, facts *Object) resolution {
	if facts.object("calls").number("soothe") > float64(len(facts.list("failed"))) {
		return lacking("nothing has gone wrong since the customer was last soothed")
	}
	return call(object())
}

const maxSummary = 200 // characters; what a human agent reads first

func transfer(brief *Brief, _ *Object) resolution {
	words := text(brief.text)
	return call(object("summary", string(words[:least(len(words), maxSummary)])))
}

// ------------------------------------------------------------------------------------------------------------ matching

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

// --------------------------------------------------------------------------------------------------------------- items

var itemID = re(`\b\d{10}\b`)

// byOrder keeps hits by their order, in the order in which orders were met.
func byOrder(hits []found) (ids []string, of map[string][]found) {
	of = map[string][]found{}
	for _, hit := range hits {
		if _, known := of[hit.orderID]; !known {
			ids = append(ids, hit.orderID)
		}
		of[hit.orderID] = append(of[hit.orderID], hit)
	}
	return ids, of
}

func wantedItems(brief *Brief, facts *Object, intent, status string) ([]string, map[string][]found) {
	hits := meant(brief, facts, setOf(intent), status)
	if len(hits) == 0 {
		hits = meant(brief, facts, anyIntent, status)
	}
	return byOrder(hits)
}

func methodsOf(facts *Object) *Object {
	if user := facts.object("user"); user != nil {
		return user.object("payment_methods")
	}
	return object()
}

func itemIDs(hits []found) []any {
	ids := []any{}
	for _, hit := range hits {
		ids = append(ids, hit.item.values["item_id"])
	}
	return ids
}

func returnItems(brief *Brief, facts *Object) resolution {
	ids, of := wantedItems(brief, facts, toBack, "delivered")
	for _, id := range ids {
		paidWith := facts.object("orders").object(id).text("paid_with")
		arguments := object("order_id", id, "item_ids", itemIDs(of[id]),
			"payment_method_id", forRefund(stated(brief.text), methodsOf(facts), paidWith))
		if !tried(facts, "return_delivered_order_items", arguments) {
			return call(arguments)
		}
	}
	return lacking("no delivered order known holds a thing to return")
}

func changeItems(tool, status string) resolver {
	return func(brief *Brief, facts *Object) resolution {
		ids, of := wantedItems(brief, facts, toSwap, status)
		reason := "no " + status + " order known holds a thing to change"
		for _, id := range ids {
			changed, becomes, lack := pairs(of[id], facts)
			if lack != "" {
				reason = lack
			}
			if len(changed) == 0 {
				continue
			}
			arguments := changeArguments(brief, facts, id, changed, becomes)
			if !tried(facts, tool, arguments) {
				return call(arguments)
			}
		}
		return lacking(reason)
	}
}

// pairs is each item with its new variant; none while a product is unknown.
func pairs(hits []found, facts *Object) ([]found, []string, string) {
	var changed []found
	var becomes []string
	for _, hit := range hits {
		product := facts.object("products").object(hit.item.text("product_id"))
		if product == nil {
			return nil, nil, "the variants of " + hit.item.text("name") + " are not known"
		}
		chosen := ""
		for _, id := range groups(itemID.all(text(hit.mention.wish)), 0) {
			if product.object("variants").has(id) && id != hit.item.text("item_id") {
				chosen = id
				break
			}
		}
		if chosen == "" {
			chosen = choose(hit.mention, hit.item, product)
		}
		if chosen != "" {
			changed, becomes = append(changed, hit), append(becomes, chosen)
		}
	}
	if len(changed) == 0 {
		return nil, nil, "no available variant fits"
	}
	return changed, becomes, ""
}

func changeArguments(brief *Brief, facts *Object, id string, changed []found, becomes []string) *Object {
	price := 0.0
	for i, hit := range changed {
		variant := facts.object("products").object(hit.item.text("product_id")).object("variants").object(becomes[i])
		price += variant.number("price") - hit.item.number("price")
	}
	original := facts.object("orders").object(id).text("paid_with")
	return object("order_id", id, "item_ids", itemIDs(changed), "new_item_ids", asList(becomes),
		"payment_method_id", forDifference(stated(brief.text), methodsOf(facts), original, price))
}

// ------------------------------------------------------------------------------------------------------------ payments

var (
	kinds = re(`(?P<gift_card>\bgift ?cards?\b|\bgc\b)|(?P<paypal>\bpaypal\b)|(?P<visa>\bvisa\b)|(?P<mastercard>\bmaster ?card\b)` +
		`|(?P<amex>\bamex\b|\bamerican express\b)|(?P<other>\bother (?:credit )?card\b|\bdifferent card\b)` +
		`|(?P<original>\boriginal (?:payment|method|card)\w*)|(?P<credit_card>\bcredit ?cards?\b)`)
	aboutPaying  = re(`\b(?:pay\w*|refund\w*|us(?:e|ing)|prefer\w*|difference|cover|charge\w*|via|method|go(?:es)? to|fine|money)\b`)
	notPaying    = re(`\bbalance\b|\bcredit left\b|\bhow much\b`)
	changeOfMind = re(`\bchange your mind\b`)
)

// stated is the kinds of payment that the words ask for, the dearest first.
func stated(words string) []string {
	var asked []string
	for _, part := range between.split(words) {
		if notPaying.in(part) || !aboutPaying.in(part) {
			continue
		}
		named := kinds.all(text(part))
		if mind := changeOfMind.find(part); mind != nil {
			var after []string
			for _, m := range named {
				if m.start() > mind.start() {
					after = append(after, m.name())
				}
			}
			asked = append(after, asked...)
		}
		for _, m := range named {
			asked = append(asked, m.name())
		}
	}
	return unique(asked)
}

// candidates are ids of the customer's methods in the order of the wishes, the original method last.
func candidates(asked []string, methods *Object, original string) []string {
	var ids []string
	for _, kind := range asked {
		switch kind {
		case "original":
			ids = append(ids, original)
		case "other":
			methods.each(func(id string, m *Object) {
				if m.text("source") == "credit_card" && id != original {
					ids = append(ids, id)
				}
			})
		case "visa", "mastercard":
			methods.each(func(id string, m *Object) {
				if m.text("brand") == kind {
					ids = append(ids, id)
				}
			})
		default:
			var first, others []string
			methods.each(func(id string, m *Object) {
				if m.text("source") == kind && id == original {
					first = append(first, id)
				} else if m.text("source") == kind {
					others = append(others, id)
				}
			})
			ids = append(append(ids, first...), others...)
		}
	}
	return append(ids, original)
}

func forRefund(asked []string, methods *Object, original string) string {
	for _, id := range candidates(asked, methods, original) {
		if id == original || methods.object(id).text("source") == "gift_card" {
			return id
		}
	}
	return original
}

func forDifference(asked []string, methods *Object, original string, price float64) string {
	for _, id := range candidates(asked, methods, original) {
		known := methods.object(id)
		if known == nil || known.text("source") != "gift_card" || known.number("balance") >= price {
			return id
		}
	}
	return original
}

var (
	asksPayment = re(`\b(?:chang|modif|switch|updat)\w*\b[^.;]{0,40}\bpayment`)
)

func orderPayment(brief *Brief, facts *Object) resolution {
	pending := ordersOf(facts, func(order *Object) bool {
		return strings.HasPrefix(order.text("status"), "pending") && order.number("payments") == 1
	})
	own, asked := methodsOf(facts), stated(brief.text)
	if len(asked) == 0 && !asksPayment.in(brief.text) {
		return lacking("the words speak of no payment method")
	}
	var named []string
	for _, id := range pending.keys {
		if contains(brief.orderIDs, id) {
			named = append(named, id)
		}
	}
	if len(named) == 0 {
		named = pending.keys
	}
	for _, id := range named {
		order := pending.object(id)
		for _, method := range append(candidates(asked, own, order.text("paid_with")), own.keys...) {
			arguments := object("order_id", id, "payment_method_id", method)
			enough := own.has(method)
			if enough && own.object(method).has("balance") {
				enough = own.object(method).number("balance") >= order.number("total")
			}
			if method != order.text("paid_with") && enough && !tried(facts, "modify_pending_order_payment", arguments) {
				return call(arguments)
			}
		}
	}
	return lacking("no pending order known that another method could pay")
}

// --------------------------------------------------------------------------------------------------------- cancelling

var (
	cancelClause = re(`\bcancel(?:l?ing|l?ed)?\b((?:(?!\b(?:exchang|modif|chang|return|keep)).)*?)(?=$|[.;]\s|\n)`)
	lastSentence = re(`.*(?:[.;]\s|\n)`, "s")
	cancelOrder  = re(`\bcancel(?:l?ing)? (?:the |your |that |this |an |whole |entire |pending )*order\b|\bcancel it\b`)
	cancelAll    = re(`\bcancel(?:l?ing)? (?:or return )?(?:all|everything)\b`)
	byMistake    = re(`\bmistake\b|\baccident\w*`)
	notNeeded    = re(`\bno longer need`)
)

func cancel(brief *Brief, facts *Object) resolution {
	for _, each := range cancellable(brief, facts) {
		arguments := object("order_id", each.id, "reason", reasonFor(brief.text, each.at))
		if !tried(facts, "cancel_pending_order", arguments) {
			return call(arguments)
		}
	}
	return lacking("no pending order known is named")
}

func reasonFor(words string, at int) string {
	nearest, reason := -1, "no longer needed"
	for _, each := range []struct {
		pattern *Pattern
		reason  string
	}{{notNeeded, "no longer needed"}, {byMistake, "ordered by mistake"}} {
		for _, m := range each.pattern.all(text(words)) {
			distance := most(m.start()-at, at-m.start())
			// of two as near, the one that comes first in the alphabet, as Python's min of pairs
			if nearest < 0 || distance < nearest || (distance == nearest && each.reason < reason) {
				nearest, reason = distance, each.reason
			}
		}
	}
	return reason
}

type askedAt struct {
	id string
	at int
}

// cancellable is the pending orders to cancel, likeliest first, and where the words ask for each.
func cancellable(brief *Brief, facts *Object) []askedAt {
	pending := ordersOf(facts, func(order *Object) bool { return order.text("status") == "pending" })
	var asked []askedAt
	named := namedToCancel(brief)
	for _, id := range pending.keys {
		if at, is := named[id]; is {
			asked = append(asked, askedAt{id, at})
		}
	}
	whole := cancelOrder.all(text(brief.text))
	for _, hit := range meant(brief, facts, setOf(toStop), "pending") {
		alone := len(pending.object(hit.orderID).list("items")) == 1
		if len(hit.mention.products) > 0 && (len(whole) > 0 || alone) {
			asked = append(asked, askedAt{hit.orderID, hit.mention.start})
		}
	}
	if cancelAll.in(brief.text) {
		for _, id := range pending.keys {
			asked = append(asked, askedAt{id, 0})
		}
	}
	for _, m := range whole { // "change the shelf; if that cannot be, cancel the order": that of the thing named before
		before := keep(brief.mentions, func(each Mention) bool {
			return len(each.products) > 0 && each.start < m.start() && each.intent == toSwap
		})
		for _, id := range pending.keys {
			if len(before) > 0 && holds(pending.object(id), before[len(before)-1].products) {
				asked = append(asked, askedAt{id, m.start()})
			}
		}
	}
	for _, id := range pending.keys {
		if contains(brief.orderIDs, id) {
			asked = append(asked, askedAt{id, 0})
		}
	}
	for _, hit := range meant(brief, facts, anyIntent, "pending") {
		asked = append(asked, askedAt{hit.orderID, hit.mention.start})
	}
	return asked
}

func namedToCancel(brief *Brief) map[string]int {
	named := map[string]int{}
	in := text(brief.text)
	for _, m := range cancelClause.all(in) {
		ids := orderIDs(m.group(1))
		if len(ids) == 0 {
			ids = orderIDs(lastSentence.blank(string(in[:m.start()]), ""))
		}
		for _, id := range ids {
			named[id] = m.start()
		}
	}
	return named
}

// ---------------------------------------------------------------------------------------------------------- addresses

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

var (
	source       = re(`same (?:\w+ )?as[^,.;]*`)
	orderOfThing = re(`[\w-]+ (?:\w+ )?order\b`)
	orderOfCity  = re(`([\w ]{2,16}) order\b`)
	moves        = re(`(?<!mail )\baddress|\bship(?:ped|ping)? to\b|\bsent to\b`)
)

func orderAddress(brief *Brief, facts *Object) resolution {
	var about []string
	for _, part := range between.split(brief.text) {
		if moves.in(part) {
			about = append(about, part)
		}
	}
	if len(about) == 0 {
		return lacking("the words speak of no address")
	}
	pending := ordersOf(facts, func(order *Object) bool { return strings.HasPrefix(order.text("status"), "pending") })
	addressed := addressedOrders(brief, about, pending)
	for _, address := range addressesMeant(brief, facts) {
		for _, id := range addressed {
			arguments := object("order_id", id)
			for _, key := range address.keys {
				arguments.set(key, address.values[key])
			}
			elsewhere := differs(address, pending.object(id).object("address"))
			if elsewhere && !tried(facts, "modify_pending_order_address", arguments) {
				return call(arguments)
			}
		}
	}
	return lacking("no pending order known, or no other address")
}

// addressedOrders are those whose address the words are about: by id, by a thing in them, by where they go now; else all.
func addressedOrders(brief *Brief, about []string, pending *Object) []string {
	var ids []string
	for _, part := range about {
		for _, id := range orderIDs(source.blank(part, "")) {
			if pending.has(id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) > 0 {
		return ids
	}
	in := text(brief.text)
	for _, mention := range brief.mentions {
		if orderOfThing.at(in, mention.start) != nil {
			pending.each(func(id string, order *Object) {
				if holds(order, mention.products) {
					ids = append(ids, id)
				}
			})
		}
	}
	if len(ids) > 0 {
		return ids
	}
	for _, part := range about {
		for _, m := range orderOfCity.all(text(part)) {
			for _, name := range cities(m.group(1)) {
				pending.each(func(id string, order *Object) {
					if order.object("address").text("city") == name {
						ids = append(ids, id)
					}
				})
			}
		}
	}
	if len(ids) > 0 {
		return ids
	}
	return pending.keys
}

func userAddress(brief *Brief, facts *Object) resolution {
	user := facts.object("user")
	if user == nil {
		return lacking("the profile is not known yet")
	}
	if !moves.in(brief.text) {
		return lacking("the words speak of no address")
	}
	for _, address := range addressesMeant(brief, facts) {
		arguments := object("user_id", facts.values["user_id"])
		for _, key := range address.keys {
			arguments.set(key, address.values[key])
		}
		if differs(address, user.object("address")) && !tried(facts, "modify_user_address", arguments) {
			return call(arguments)
		}
	}
	return lacking("no other address known")
}
