// Arguments of the tools that change where an order goes, or a customer lives: examples/retail/resolving/orders.py.

package main

import (
	"strings"
)

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
