// Which variant of a product fits a wish: examples/retail/resolving/variants.py.

package main

import (
	"sort"
	"strings"
)

// variants are those of one product by item id, in the shop's order.
type variants struct {
	ids []string
	of  map[string]*Object
}

func pick(all variants, fits func(id string, variant *Object) bool) variants {
	picked := variants{of: map[string]*Object{}}
	for _, id := range all.ids {
		if fits(id, all.of[id]) {
			picked.ids = append(picked.ids, id)
			picked.of[id] = all.of[id]
		}
	}
	return picked
}

func optionOf(variant *Object, key string) (string, bool) {
	value, is := variant.object("options").values[key].(string)
	return value, is
}

// choose is the item id of the available variant that fits and is else nearest to the item; empty if none fits.
func choose(mention Mention, item *Object, product *Object) string {
	all := variants{of: map[string]*Object{}}
	product.object("variants").each(func(id string, variant *Object) {
		all.ids, all.of[id] = append(all.ids, id), variant
	})
	choices := pick(all, func(id string, v *Object) bool { return v.values["available"] == true && id != item.text("item_id") })
	if mention.wishOptions != nil {
		wanted := newOptions()
		for _, key := range mention.wishOptions.keys {
			wanted.set(key, []string{mention.wishOptions.text(key)})
		}
		return nearest(fitting(choices, wanted), item)
	}
	keys := newOptions()
	for _, key := range item.object("options").keys {
		values := set{}
		for _, id := range all.ids {
			value, _ := optionOf(all.of[id], key)
			values[value] = true
		}
		keys.set(key, sortedNames(values))
	}
	first := readWish(mention.wish, item, keys)
	first.preferences = preferencesIn(mention.wish + " ; " + mention.otherwise)
	chosen := best(first, choices, item, keys, strings.Trim(mention.otherwise, " ;.,") != "")
	for _, otherwise := range consequents(mention.otherwise) {
		second := readWish(otherwise, item, keys)
		if chosen == "" && len(second.wanted.keys) > 0 {
			both := newOptions()
			for _, from := range []*options{first.wanted, second.wanted} {
				for _, key := range from.keys {
					both.set(key, from.values[key])
				}
			}
			second.wanted, second.preferences = both, first.preferences
			chosen = best(second, choices, item, keys, false)
		}
	}
	return chosen
}

func sortedNames(names set) []string {
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return sorted
}

func best(w wish, choices variants, item *Object, keys *options, strict bool) string {
	if w.empty() {
		return ""
	}
	wanted := w.wanted
	if strict && w.same { // "the same but" allows no other difference
		all := newOptions()
		for _, key := range item.object("options").keys {
			values, is := wanted.values[key]
			if !is {
				values = []string{item.object("options").text(key)}
			}
			all.set(key, values)
		}
		wanted = all
	}
	fits := preferred(fitting(allowed(choices, w), wanted), w.preferences, keys)
	if w.price != 0 && len(fits.ids) > 0 {
		return byPrice(w, fits, item)
	}
	return nearest(fits, item)
}

func allowed(choices variants, w wish) variants {
	return pick(choices, func(_ string, v *Object) bool {
		if w.atMost != nil && v.number("price") > *w.atMost {
			return false
		}
		for _, key := range w.unwanted.keys {
			if value, is := optionOf(v, key); is && contains(w.unwanted.values[key], value) {
				return false
			}
		}
		return true
	})
}

func having(from variants, key, wanted string) variants {
	return pick(from, func(_ string, v *Object) bool {
		value, is := optionOf(v, key)
		return is && value == wanted
	})
}

func fitting(choices variants, wanted *options) variants {
	fits := choices
	for _, key := range wanted.keys {
		found := false
		for _, value := range wanted.values[key] {
			if some := having(fits, key, value); len(some.ids) > 0 {
				fits, found = some, true
				break
			}
		}
		if !found {
			return variants{}
		}
	}
	return fits
}

func preferred(fits variants, preferences string, keys *options) variants {
	for _, key := range keys.keys {
		for _, value := range withoutParts(toldValues(preferences, key, keys.values[key])) {
			if some := having(fits, key, value); len(some.ids) > 0 {
				fits = some
				break
			}
		}
	}
	return fits
}

func byPrice(w wish, fits variants, item *Object) string {
	sign := float64(w.price)
	chosen := ""
	for _, id := range fits.ids {
		price := -sign * fits.of[id].number("price")
		now := -sign * fits.of[chosen].priceOr(price)
		if chosen == "" || price < now || (price == now && id < chosen) {
			chosen = id
		}
	}
	gains := (fits.of[chosen].number("price")-item.number("price"))*sign > 0
	if gains || len(w.wanted.keys) > 0 {
		return chosen
	}
	return ""
}

func (o *Object) priceOr(other float64) float64 {
	if o == nil {
		return other
	}
	return o.number("price")
}

func nearest(fits variants, item *Object) string {
	chosen, shares, price := "", 0, 0.0
	for _, id := range fits.ids {
		variant, same := fits.of[id], 0
		for _, key := range item.object("options").keys {
			if value, is := optionOf(variant, key); is && value == item.object("options").text(key) {
				same++
			}
		}
		cost := variant.number("price")
		if chosen == "" || same > shares || (same == shares && (cost < price || (cost == price && id < chosen))) {
			chosen, shares, price = id, same, cost
		}
	}
	return chosen
}
