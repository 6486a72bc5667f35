// Arguments of the tool that cancels an order: examples/retail/resolving/cancelling.py.

package main

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
