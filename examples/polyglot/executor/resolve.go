// From the words and the facts to a tool's arguments, as examples/retail/resolving finds them: how each action's are
// found, and what all of them need.

package main

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
