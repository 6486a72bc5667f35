// Which payment method a customer means, and the tool that changes it: examples/retail/resolving/payments.py, orders.py.

package main

import (
	"strings"
)

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
