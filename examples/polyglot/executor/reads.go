// Arguments of the tools that only read, and of the actions that call nothing: examples/retail/resolving/reads.py.

package main

import (
	"encoding/json"
	"strings"
)

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
