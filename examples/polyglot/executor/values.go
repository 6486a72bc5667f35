// Option values in words, and their order: examples/retail/words/values.py and resolving/scales.py.

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
