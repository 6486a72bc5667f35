// All that one customer's words say: examples/retail/words/brief.py and literals.py.

package main

import (
	"strings"
	"sync"
)

// Brief is all that one customer's words say; fields as in words/brief.py.
type Brief struct {
	text                            string
	emails, zips, orderIDs, itemIDs []string
	names                           [][2]string
	mentions, things                []Mention
}

var (
	bareOrder = re(`(?<![\d#w])\b\d{7}\b`, "i")
	bareItem  = re(`(?<!\d)\d{10}(?!\d)`)
	email     = re(`[\w.+-]+@[\w-]+\.\w+`)
	zipCode   = re(`(?<![\d#_@.])\b\d{5}\b(?![\d@])`)
	home      = re(`\b(?:zip ?code|liv(?:e|ing)|resid\w+|zip|from|in)\b[^.\n]{0,60}?(?<!\d)(\d{5})(?!\d)`)
	userID    = re(`\b([a-z]+)_([a-z]+)_\d{4}\b`)
	fullName  = re(`(?:\b[Yy]ou are|\b[Yy]ou're|\bname is|\bcalled|\buser|\bI am|\bI'm)\s+([A-Z][a-z]+)\s+([A-Z][a-z]+)`)
	compound  = re(`\b(`+numberNames()+`)(?=[- ](?:piece|inch|foot|feet|ft|liter|cup|hour)\w*\b)`, "i")
	braces    = re(`\{[^{}]*\}`)
)

func numberNames() string {
	var names []string
	for name := range lexicon.NumberWords {
		names = append(names, name)
	}
	return longestFirst(names, false)
}

// briefs keeps what was read: every round of a conversation reads the same words again.
var briefs = struct {
	sync.Mutex
	of map[string]*Brief
}{of: map[string]*Brief{}}

const maxBriefs = 1024

func read(words string) *Brief {
	briefs.Lock()
	known := briefs.of[words]
	briefs.Unlock()
	if known != nil {
		return known
	}
	made := readAnew(words)
	briefs.Lock()
	defer briefs.Unlock()
	if len(briefs.of) >= maxBriefs {
		briefs.of = map[string]*Brief{}
	}
	briefs.of[words] = made
	return made
}

func readAnew(words string) *Brief {
	digits := compound.replace(words, func(m *Match) string { return lexicon.NumberWords[strings.ToLower(m.group(1))] })
	blank, literals := cutLiterals(digits)
	low := strings.ToLower(blank)
	found := mentionsOf(text(low), literals)
	in := text(words)
	brief := &Brief{text: low, mentions: found, things: merged(found)}
	brief.emails = unique(groups(email.all(in), 0))
	brief.zips = unique(append(groups(home.all(in), 1), groups(zipCode.all(in), 0)...))
	bare := groups(bareOrder.all(in), 0)
	for i := range bare {
		bare[i] = "#W" + bare[i]
	}
	brief.orderIDs = unique(append(orderIDs(words), bare...))
	brief.itemIDs = unique(groups(bareItem.all(in), 0))
	brief.names = namesIn(in)
	return brief
}

func namesIn(in text) [][2]string {
	var names [][2]string
	for _, m := range fullName.all(in) {
		names = append(names, [2]string{m.group(1), m.group(2)})
	}
	for _, m := range userID.all(in) {
		names = append(names, [2]string{capitalized(m.group(1)), capitalized(m.group(2))})
	}
	seen := map[[2]string]bool{}
	var distinct [][2]string
	for _, name := range names {
		if !seen[name] {
			distinct = append(distinct, name)
		}
		seen[name] = true
	}
	return distinct
}

// cutLiterals blanks out option dictionaries written in the words, such as {'color': 'blue'}, and returns them.
func cutLiterals(words string) (string, []literal) {
	var literals []literal
	in := text(words)
	for _, m := range braces.all(text(words)) {
		if options := readLiteral(m.in[m.start()+1 : m.end()-1]); options != nil {
			literals = append(literals, literal{m.start(), options})
			for i := m.start(); i < m.end(); i++ {
				in[i] = ' '
			}
		}
	}
	return string(in), literals
}

var literalPart = re(`\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?|True|False|None)\s*`)
var backslashed = re(`\\(.)`)

// readLiteral reads a flat dictionary of Python: texts, numbers, True, False and None. nil for anything else.
func readLiteral(in text) *Object {
	made := object()
	at := 0
	part := func() (string, bool) {
		m := literalPart.at(in, at)
		if m == nil {
			return "", false
		}
		at = m.end()
		value := m.group(1)
		if value[0] == '\'' || value[0] == '"' {
			value = backslashed.replace(value[1:len(value)-1], func(m *Match) string { return m.group(1) })
		}
		return value, true
	}
	if strings.TrimSpace(string(in)) == "" {
		return made
	}
	for {
		key, is := part()
		if !is || at >= len(in) || in[at] != ':' {
			return nil
		}
		at++
		value, is := part()
		if !is {
			return nil
		}
		made.set(key, value)
		if at < len(in) && in[at] != ',' {
			return nil
		}
		at++
		if at >= len(in) || strings.TrimSpace(string(in[at:])) == "" {
			return made
		}
	}
}
