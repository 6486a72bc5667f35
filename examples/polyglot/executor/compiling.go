// How a regular expression is read: from its source to the nodes that match.

package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

var compiled sync.Map // patterns by flags and source

// re compiles a pattern once; flags: i ignores case, s lets the dot match line ends.
func re(source string, flags ...string) *Pattern {
	set := strings.Join(flags, "")
	key := set + "/" + source
	if known, is := compiled.Load(key); is {
		return known.(*Pattern)
	}
	r := &reader{source: text(source), pattern: &Pattern{source: source, names: map[int]string{}}}
	r.ignoreCase, r.dotAll = strings.Contains(set, "i"), strings.Contains(set, "s")
	root, _, _ := r.alternatives()
	if r.at != len(r.source) {
		panic(fmt.Sprintf("pattern %q: not understood at %d", source, r.at))
	}
	r.pattern.root = root
	compiled.Store(key, r.pattern)
	return r.pattern
}

// reader turns the source into nodes; each of its parts says also how many characters it takes, -1 where that varies,
// and whether it is one character, which makes repeating it cheap.
type reader struct {
	source             text
	at                 int
	ignoreCase, dotAll bool
	pattern            *Pattern
}

type single func(r rune) bool

func (r *reader) more() bool { return r.at < len(r.source) }
func (r *reader) ahead(s string) bool {
	return strings.HasPrefix(string(r.source[r.at:]), s)
}
func (r *reader) take(s string) bool {
	if r.ahead(s) {
		r.at += len(text(s))
		return true
	}
	return false
}

func (r *reader) alternatives() (node, int, single) {
	first, width, one := r.sequence()
	if !r.ahead("|") {
		return first, width, one
	}
	choices := []node{first}
	for r.take("|") {
		next, wide, _ := r.sequence()
		choices = append(choices, next)
		if wide != width {
			width = -1
		}
	}
	return func(m *machine, at int, then tail) bool {
		for _, choice := range choices {
			if choice(m, at, then) {
				return true
			}
		}
		return false
	}, width, nil
}

func (r *reader) sequence() (node, int, single) {
	var parts []node
	var run []single // characters that stand one after another are matched at once
	width := 0
	var one single
	for r.more() && !r.ahead("|") && !r.ahead(")") {
		part, wide, fits := r.repeated()
		one = fits
		if fits == nil {
			run = nil
			parts = append(parts, part)
		} else if run = append(run, fits); len(run) == 1 {
			parts = append(parts, part)
		} else {
			parts[len(parts)-1], one = ofRun(run), nil
		}
		if width >= 0 && wide >= 0 {
			width += wide
		} else {
			width = -1
		}
	}
	if len(parts) == 1 {
		return parts[0], width, one
	}
	return chain(parts), width, nil
}

func ofRun(run []single) node {
	return func(m *machine, at int, then tail) bool {
		if at+len(run) > len(m.in) {
			return false
		}
		for i, fits := range run {
			if !fits(m.in[at+i]) {
				return false
			}
		}
		return then(at + len(run))
	}
}

func chain(parts []node) node {
	if len(parts) == 0 {
		return func(_ *machine, at int, then tail) bool { return then(at) }
	}
	first, rest := parts[0], chain(parts[1:])
	if len(parts) == 1 {
		return first
	}
	return func(m *machine, at int, then tail) bool {
		return first(m, at, func(next int) bool { return rest(m, next, then) })
	}
}

const unbounded = 1 << 30

func (r *reader) repeated() (node, int, single) {
	part, width, one := r.atom()
	least, most := 1, 1
	switch {
	case r.take("*"):
		least, most = 0, unbounded
	case r.take("+"):
		least, most = 1, unbounded
	case r.take("?"):
		least, most = 0, 1
	case r.ahead("{"):
		if m := r.counts(); m != nil {
			least, most = m[0], m[1]
		} else {
			return part, width, one
		}
	default:
		return part, width, one
	}
	lazy := r.take("?")
	if least != most {
		width = -1
	} else if width >= 0 {
		width *= least
	}
	if one != nil {
		return ofSingles(one, least, most, lazy), width, nil
	}
	return ofNodes(part, least, most, lazy), width, nil
}

func (r *reader) counts() []int {
	end := strings.IndexByte(string(r.source[r.at:]), '}')
	low, high, ranged := strings.Cut(string(r.source[r.at+1:r.at+end]), ",")
	least, err := strconv.Atoi(low)
	if err != nil {
		return nil
	}
	most := least
	if ranged {
		if most, err = strconv.Atoi(high); err != nil {
			most = unbounded
		}
	}
	r.at += end + 1
	return []int{least, most}
}

func ofSingles(fits single, least, most int, lazy bool) node {
	return func(m *machine, at int, then tail) bool {
		count := 0
		for count < least {
			if at+count >= len(m.in) || !fits(m.in[at+count]) {
				return false
			}
			count++
		}
		if lazy {
			for !then(at + count) {
				if count >= most || at+count >= len(m.in) || !fits(m.in[at+count]) {
					return false
				}
				count++
			}
			return true
		}
		for count < most && at+count < len(m.in) && fits(m.in[at+count]) {
			count++
		}
		for ; count >= least; count-- {
			if then(at + count) {
				return true
			}
		}
		return false
	}
}

func ofNodes(part node, least, most int, lazy bool) node {
	var from func(m *machine, at, count int, then tail) bool
	from = func(m *machine, at, count int, then tail) bool {
		again := func() bool {
			return count < most && part(m, at, func(next int) bool {
				return (next > at || count < least) && from(m, next, count+1, then)
			})
		}
		if count < least {
			return again()
		}
		if lazy {
			return then(at) || again()
		}
		return again() || then(at)
	}
	return func(m *machine, at int, then tail) bool { return from(m, at, 0, then) }
}

func (r *reader) atom() (node, int, single) {
	switch {
	case r.take("(?:"):
		return r.group(0, "")
	case r.take("(?P<"):
		end := strings.IndexByte(string(r.source[r.at:]), '>')
		name := string(r.source[r.at : r.at+end])
		r.at += end + 1
		r.pattern.count++
		return r.group(r.pattern.count, name)
	case r.take("(?=") || r.take("(?!"):
		negative := r.source[r.at-1] == '!'
		inner, _, _ := r.group(0, "")
		return func(m *machine, at int, then tail) bool {
			return inner(m, at, func(int) bool { return true }) != negative && then(at)
		}, 0, nil
	case r.take("(?<=") || r.take("(?<!"):
		negative := r.source[r.at-1] == '!'
		inner, width, _ := r.group(0, "")
		if width < 0 {
			panic(fmt.Sprintf("pattern %q: a lookbehind of no fixed width", r.pattern.source))
		}
		return func(m *machine, at int, then tail) bool {
			found := at >= width && inner(m, at-width, func(end int) bool { return end == at })
			return found != negative && then(at)
		}, 0, nil
	case r.take("("):
		r.pattern.count++
		return r.group(r.pattern.count, "")
	case r.take("^"):
		return func(_ *machine, at int, then tail) bool { return at == 0 && then(at) }, 0, nil
	case r.take("$"):
		return func(m *machine, at int, then tail) bool {
			last := at == len(m.in) || (at == len(m.in)-1 && m.in[at] == '\n')
			return last && then(at)
		}, 0, nil
	case r.take(`\b`):
		return func(m *machine, at int, then tail) bool {
			before := at > 0 && isWord(m.in[at-1])
			after := at < len(m.in) && isWord(m.in[at])
			return before != after && then(at)
		}, 0, nil
	}
	return one(r.character())
}

func (r *reader) group(number int, name string) (node, int, single) {
	inner, width, only := r.alternatives()
	if !r.take(")") {
		panic(fmt.Sprintf("pattern %q: a group without end", r.pattern.source))
	}
	if number == 0 {
		return inner, width, only
	}
	if name != "" {
		r.pattern.names[number] = name
	}
	return func(m *machine, at int, then tail) bool {
		start, end := m.groups[2*number], m.groups[2*number+1]
		if inner(m, at, func(next int) bool {
			oldStart, oldEnd := m.groups[2*number], m.groups[2*number+1]
			m.groups[2*number], m.groups[2*number+1] = at, next
			if then(next) {
				return true
			}
			m.groups[2*number], m.groups[2*number+1] = oldStart, oldEnd
			return false
		}) {
			return true
		}
		m.groups[2*number], m.groups[2*number+1] = start, end
		return false
	}, width, nil
}

func one(fits single) (node, int, single) {
	return func(m *machine, at int, then tail) bool {
		return at < len(m.in) && fits(m.in[at]) && then(at+1)
	}, 1, fits
}

func (r *reader) character() single {
	c := r.source[r.at]
	r.at++
	switch c {
	case '.':
		if r.dotAll {
			return func(rune) bool { return true }
		}
		return func(x rune) bool { return x != '\n' }
	case '[':
		return r.class()
	case '\\':
		return r.escaped()
	}
	return r.literal(c)
}

func (r *reader) literal(c rune) single {
	if r.ignoreCase {
		low := unicode.ToLower(c)
		return func(x rune) bool { return unicode.ToLower(x) == low }
	}
	return func(x rune) bool { return x == c }
}

func (r *reader) escaped() single {
	c := r.source[r.at]
	r.at++
	switch c {
	case 'd':
		return unicode.IsDigit
	case 'w':
		return isWord
	case 's':
		return isSpace
	case 'n':
		return r.literal('\n')
	}
	if isWord(c) {
		panic(fmt.Sprintf("pattern %q: \\%c is not read here", r.pattern.source, c))
	}
	return r.literal(c)
}

func (r *reader) class() single {
	negative := r.take("^")
	var fits []single
	for first := true; first || !r.ahead("]"); first = false {
		c := r.source[r.at]
		if c == '\\' {
			r.at++
			fits = append(fits, r.escaped())
			continue
		}
		r.at++
		if r.ahead("-") && r.source[r.at+1] != ']' {
			high := r.source[r.at+1]
			r.at += 2
			fits = append(fits, r.span(c, high))
			continue
		}
		fits = append(fits, r.literal(c))
	}
	r.at++
	return func(x rune) bool {
		for _, fit := range fits {
			if fit(x) {
				return !negative
			}
		}
		return negative
	}
}

func (r *reader) span(low, high rune) single {
	if !r.ignoreCase {
		return func(x rune) bool { return low <= x && x <= high }
	}
	return func(x rune) bool {
		l, u := unicode.ToLower(x), unicode.ToUpper(x)
		return (low <= l && l <= high) || (low <= u && u <= high)
	}
}

func isWord(x rune) bool  { return x == '_' || unicode.IsLetter(x) || unicode.IsNumber(x) }
func isSpace(x rune) bool { return unicode.IsSpace(x) || (x >= 0x1c && x <= 0x1f) }

// quoted is a text as a pattern that means just it, as Python's re.escape writes it.
func quoted(s string) string {
	var out strings.Builder
	for _, c := range s {
		if strings.ContainsRune("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", c) {
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return out.String()
}
