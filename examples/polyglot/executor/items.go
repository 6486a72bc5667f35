// Arguments of the tools that return, exchange or modify items of an order: examples/retail/resolving/items.py.

package main

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
