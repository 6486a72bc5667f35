// Which variant of a product fits a wish, as examples/retail/words/values.py and resolving/{scales,wishes,variants}.py
// decide it.

package main

import (
	"sort"
	"strconv"
	"strings"
)

// options holds the values of each option, in an order of its own: that of the item.
type options struct {
	keys   []string
	values map[string][]string
}

func (o *options) set(key string, values []string) {
	if _, known := o.values[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.values[key] = values
}

func newOptions() *options { return &options{values: map[string][]string{}} }

// --------------------------------------------------------------------------------------------------- values in words

var measure = re(`(\d+(?:\.\d+)?)[- ]?([a-z]+)`)

func toldValues(words, key string, values []string) []string {
	in := text(words)
	places := map[string]int{}
	var told []string
	for _, value := range values {
		if m := valuePattern(key, value).search(in, 0); m != nil {
			if _, known := places[value]; !known {
				told = append(told, value)
			}
			places[value] = m.start()
		}
	}
	sort.SliceStable(told, func(i, j int) bool { return places[told[i]] < places[told[j]] })
	return told
}

func valuePattern(key, value string) *Pattern {
	if says, known := lexicon.YesNo[key]; known && (value == "yes" || value == "no") {
		if value == "no" {
			return re(says[1])
		}
		return re(`(?<!not )(?<!non-)(?:` + says[0] + `)`)
	}
	if value == "none" {
		head := quoted(strings.Fields(key)[0])
		return re(`\b(?:no|without(?: an?| any)?) ` + head + `\w*|\bno ` + quoted(key))
	}
	return re(plainValue(key, value))
}

func plainValue(key, value string) string {
	low := strings.ToLower(value)
	if words, known := lexicon.OptionWords[value]; known {
		parts := strings.Split(words, "|")
		for i := range parts {
			parts[i] = loose(parts[i])
		}
		return `(?<![\w-])(?:` + strings.Join(parts, "|") + `)(?![\w%])`
	}
	if isDigits(low) {
		head := quoted(strings.TrimRight(strings.Fields(key)[0], "s"))
		return `\b` + head + `s? (?:of |to |is )?` + low + `\b|\b` + low + `[- ]?` + head +
			`|(?<!\d)` + low + `(?= ?(?:-piece|piece))`
	}
	return `(?<![\w.-])(?:` + loose(low) + `)(?![\w%])`
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// loose takes "13-inch", "13 inch" and "13 inches" alike.
func loose(low string) string {
	m := measure.whole(low)
	if m == nil {
		return strings.NewReplacer(`\-`, "[- ]?", `\ `, "[- ]?").Replace(quoted(low))
	}
	unit, known := lexicon.Units[m.group(2)]
	if !known {
		unit = quoted(m.group(2))
	}
	return quoted(m.group(1)) + `[- ]?` + unit
}

// -------------------------------------------------------------------------------------------------------------- scales

const (
	toTheEnd = 9
	beyond   = "beyond the scale"
	noneSuch = "none such"
)

var (
	numeral = re(`\d+(?:\.\d+)?`)
	more    = re(`(\d+) (?:more|additional|extra)\b|(\d+) pieces more`)
	fewer   = re(`(\d+) (?:fewer|less)\b|(\d+) pieces (?:fewer|less)`)
)

func relative(wish, key, now string, values []string) []string {
	order := inOrder(key, values)
	here := -1
	for i, value := range order {
		if value == now {
			here = i
		}
	}
	if here < 0 {
		return nil
	}
	if key == "pieces" {
		for i, pattern := range []*Pattern{more, fewer} {
			if m := pattern.find(wish); m != nil {
				return []string{strconv.Itoa(whole(now) + (1-2*i)*whole(m.group(1)+m.group(2)))}
			}
		}
	}
	for _, each := range lexicon.Comparatives {
		if !contains(each.About, key) || !re(`\b(?:`+each.Words+`)\b`).in(wish) {
			continue
		}
		if each.Steps == toTheEnd {
			return order[len(order)-1:]
		}
		if each.Steps == -toTheEnd {
			return order[:1]
		}
		found := append([]string{}, order[here+1:]...)
		if each.Steps < 0 {
			found = nil
			for i := here - 1; i >= 0; i-- {
				found = append(found, order[i])
			}
		}
		if len(found) == 0 {
			return []string{beyond}
		}
		return found
	}
	return nil
}

func inOrder(key string, values []string) []string {
	scale := lexicon.Scales[key]
	var ordered []string
	for _, value := range scale {
		if contains(values, value) {
			ordered = append(ordered, value)
		}
	}
	if len(scale) > 0 && len(ordered) == len(values) {
		return ordered
	}
	numbers := map[string]float64{}
	for _, value := range values {
		if m := numeral.begins(value); m != nil {
			numbers[value], _ = strconv.ParseFloat(m.group(0), 64)
		}
	}
	if len(numbers) < len(values) {
		return nil
	}
	ordered = append([]string{}, values...)
	sort.SliceStable(ordered, func(i, j int) bool { return numbers[ordered[i]] < numbers[ordered[j]] })
	return ordered
}

// -------------------------------------------------------------------------------------------------------------- wishes

type wish struct {
	wanted, unwanted *options
	preferences      string
	price            int // -1 for the cheapest, 1 for the dearest
	atMost           *float64
	same             bool
}

func (w wish) empty() bool {
	return len(w.wanted.keys) == 0 && len(w.unwanted.keys) == 0 && w.preferences == "" && w.price == 0 &&
		(w.atMost == nil || *w.atMost == 0)
}

var (
	cheapest    = re(`\bcheapest\b|\bleast expensive\b|\blowest price`)
	dearest     = re(`\bmost expensive\b|\bpriciest\b|\bhighest price`)
	instead     = re(`\b(?:instead of|rather than)\b[^,.;]*|\bfrom\b[^,.;]*?(?=\bto\b)`)
	butFor      = re(`\b(?:other than|except(?: for)?|anything but|any \w+ but)\b([^,.;]*)`)
	atMost      = re(`\b(?:under|below|less than|cheaper than|no more than|at most|up to|not exceed\w*) \$ ?(\d+(?:\.\d+)?)`)
	prefer      = re(`\b(?:prefer\w*|ideally)\b[^.;]*`)
	anyMeasure  = re(`(\d+(?:\.\d+)?)[- ]?([a-zA-Z]{2,})`)
	indifferent = re(`(?:\bnot|n't) (?:really )?(?:care|mind|matter)\b[^,.;]*`)
	theSame     = re(`\b(?:same|keep\w*|without changing|otherwise identical)\b`)
	thenDo      = re(`, ?((?:you|i|then|just|please)\b.*|[^,]*)$`)
	clauseEnd   = re(`[.;]\s`)
)

func readWish(words string, item *Object, keys *options) wish {
	unwanted := strings.Join(groups(butFor.all(text(words)), 1), " ")
	limit := atMost.find(words)
	words = butFor.blank(instead.blank(indifferent.blank(words, " "), " "), " ")
	read := wish{wanted: wantedIn(words, item, keys), unwanted: newOptions(), preferences: preferencesIn(words)}
	if unwanted != "" {
		for _, key := range keys.keys {
			read.unwanted.set(key, toldValues(unwanted, key, keys.values[key]))
		}
	}
	if cheapest.in(words) {
		read.price = -1
	} else if dearest.in(words) {
		read.price = 1
	}
	if limit != nil {
		value, _ := strconv.ParseFloat(limit.group(1), 64)
		read.atMost = &value
	}
	read.same = theSame.in(words)
	return read
}

func preferencesIn(words string) string { return strings.Join(groups(prefer.all(text(words)), 0), " ") }

func consequents(otherwise string) []string {
	var found []string
	for _, clause := range clauseEnd.split(otherwise + " ") {
		if m := thenDo.find(clause); m != nil {
			found = append(found, m.group(1))
		}
	}
	return found
}

func withoutParts(values []string) []string {
	var kept []string
	for _, v := range values {
		part := false
		for _, w := range values {
			part = part || (v != w && contains(strings.Fields(strings.ToLower(w)), strings.ToLower(v)))
		}
		if !part {
			kept = append(kept, v)
		}
	}
	return kept
}

func wantedIn(words string, item *Object, keys *options) *options {
	hard := prefer.blank(words, " ")
	wanted := newOptions()
	for _, key := range keys.keys {
		now := item.object("options").text(key)
		told := relative(hard, key, now, keys.values[key])
		if len(told) == 0 {
			if told = adjacent(hard, key, keys.values[key]); len(told) == 0 {
				told = toldValues(hard, key, keys.values[key])
			}
			told = withoutParts(told)
		}
		if len(told) > 0 {
			wanted.set(key, butNow(told, now))
		} else if unheld(hard, keys.values[key]) {
			wanted.set(key, []string{noneSuch})
		} else if sameOption(key).in(hard) {
			wanted.set(key, []string{now})
		}
	}
	return unshared(hard, wanted, keys)
}

func butNow(told []string, now string) []string {
	var others []string
	for _, value := range told {
		if value != now {
			others = append(others, value)
		}
	}
	if len(others) == 0 {
		return told
	}
	return others
}

func unheld(words string, values []string) bool {
	for _, value := range values {
		if m := anyMeasure.whole(value); m != nil {
			if re(`(?<![\w.-])\d+(?:\.\d+)?[- ]?` + quoted(m.group(2)) + `\b`).in(words) {
				return true
			}
		}
	}
	return false
}

func sameOption(key string) *Pattern {
	return re(`\b(?:same|keep(?:ing)?(?: the)?)\b (?:\w+ (?:and )?){0,3}?(?:` + heads(strings.Fields(key)) + `)\b`)
}

func heads(words []string) string {
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = quoted(word)
	}
	return strings.Join(parts, "|")
}

func adjacent(words, key string, values []string) []string {
	var named []string
	for _, word := range strings.Fields(key) {
		if word != "type" && word != "of" {
			named = append(named, word)
		}
	}
	if len(named) == 0 {
		return nil
	}
	head := heads(named)
	var found []string
	for _, value := range values {
		plain := valuePattern(key, value).source
		if re(`(?:` + plain + `)[ -](?:` + head + `)|\b(?:` + head + `)(?: of| to| is)? (?:` + plain + `)`).in(words) {
			found = append(found, value)
		}
	}
	return found
}

func unshared(words string, wanted, keys *options) *options {
	claimed := map[string]string{}
	for _, key := range wanted.keys {
		for _, value := range adjacent(words, key, keys.values[key]) {
			claimed[strings.ToLower(value)] = key
		}
	}
	result := newOptions()
	for _, key := range wanted.keys {
		var mine []string
		for _, value := range wanted.values[key] {
			if by, is := claimed[strings.ToLower(value)]; !is || by == key {
				mine = append(mine, value)
			}
		}
		if len(mine) > 0 {
			result.set(key, mine)
		}
	}
	return result
}

// ------------------------------------------------------------------------------------------------------------ choosing

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
