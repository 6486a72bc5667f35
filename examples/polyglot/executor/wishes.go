// What the words ask a variant to be: examples/retail/resolving/wishes.py.

package main

import (
	"strconv"
	"strings"
)

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
