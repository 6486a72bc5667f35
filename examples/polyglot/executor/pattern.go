// Regular expressions as Python reads them. Go's own have no lookahead and no lookbehind, which the patterns of the
// retail words are full of. This is a backtracking matcher for just what they use: classes, groups by number and by
// name, alternatives, greedy and lazy repetition, lookaround, \b. Places are counted in characters.

package main

import "strings"

// text is a string as characters, so that places mean the same as in Python.
type text []rune

// tail is what must match after a node; node matches at a place and goes on with the tail.
type tail func(at int) bool
type node func(m *machine, at int, then tail) bool

type machine struct {
	in     text
	groups []int // start and end of each group, -1 where it took no part
}

// Pattern is a compiled regular expression.
type Pattern struct {
	source string
	names  map[int]string
	count  int
	root   node
}

// Match is where a pattern, and each of its groups, was found.
type Match struct {
	in      text
	groups  []int
	pattern *Pattern
}

func (m *Match) start() int            { return m.groups[0] }
func (m *Match) end() int              { return m.groups[1] }
func (m *Match) startOf(group int) int { return m.groups[2*group] }
func (m *Match) endOf(group int) int   { return m.groups[2*group+1] }

// group is the text of a group, empty where it took no part.
func (m *Match) group(number int) string {
	if m.groups[2*number] < 0 {
		return ""
	}
	return string(m.in[m.groups[2*number]:m.groups[2*number+1]])
}

// name is that of the named group that took part; the patterns here have one at a time.
func (m *Match) name() string {
	for number, name := range m.pattern.names {
		if m.groups[2*number] >= 0 {
			return name
		}
	}
	return ""
}

func (p *Pattern) at(in text, place int) *Match { return p.first(in, place, place) }

// search finds the first match at or after a place.
func (p *Pattern) search(in text, from int) *Match { return p.first(in, from, len(in)) }

func (p *Pattern) first(in text, from, to int) *Match {
	m := &machine{in: in, groups: make([]int, 2*p.count+2)}
	ended := func(end int) bool { m.groups[1] = end; return true }
	for i := range m.groups {
		m.groups[i] = -1
	}
	for place := from; place <= to; place++ {
		if p.root(m, place, ended) { // a node that does not match leaves the groups as they were
			m.groups[0] = place
			return &Match{in: in, groups: m.groups, pattern: p}
		}
	}
	return nil
}

func (p *Pattern) in(s string) bool       { return p.search(text(s), 0) != nil }
func (p *Pattern) find(s string) *Match   { return p.search(text(s), 0) }
func (p *Pattern) begins(s string) *Match { return p.at(text(s), 0) }
func (p *Pattern) between(s text, from, to int) bool {
	return p.search(s[:to], from) != nil
}

// whole matches all of the text.
func (p *Pattern) whole(s string) *Match {
	in := text(s)
	m := &machine{in: in, groups: make([]int, 2*p.count+2)}
	for i := range m.groups {
		m.groups[i] = -1
	}
	if !p.root(m, 0, func(end int) bool { m.groups[1] = end; return end == len(in) }) {
		return nil
	}
	m.groups[0] = 0
	return &Match{in: in, groups: m.groups, pattern: p}
}

// all finds every match, none overlapping another.
func (p *Pattern) all(in text) []*Match {
	var found []*Match
	for place := 0; place <= len(in); {
		m := p.search(in, place)
		if m == nil {
			break
		}
		found = append(found, m)
		place = m.end()
		if m.end() == m.start() {
			place++
		}
	}
	return found
}

// replace puts something in the place of every match.
func (p *Pattern) replace(s string, with func(*Match) string) string {
	in := text(s)
	var out strings.Builder
	last := 0
	for _, m := range p.all(in) {
		out.WriteString(string(in[last:m.start()]))
		out.WriteString(with(m))
		last = m.end()
	}
	out.WriteString(string(in[last:]))
	return out.String()
}

func (p *Pattern) blank(s, with string) string {
	return p.replace(s, func(*Match) string { return with })
}

// split cuts a text at every match.
func (p *Pattern) split(s string) []string {
	in := text(s)
	var parts []string
	last := 0
	for _, m := range p.all(in) {
		parts = append(parts, string(in[last:m.start()]))
		last = m.end()
	}
	return append(parts, string(in[last:]))
}
