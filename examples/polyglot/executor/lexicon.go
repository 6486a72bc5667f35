// The shop's vocabulary, and the names of what customers want.

package main

import (
	_ "embed"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

//go:embed lexicon.json
var lexiconText []byte

// lexicon is the shop's vocabulary, written by export_lexicon.py.
var lexicon = readLexicon()

type vocabulary struct {
	Products     map[string]string    `json:"products"`
	NumberWords  map[string]string    `json:"number_words"`
	OptionWords  map[string]string    `json:"option_words"`
	YesNo        map[string][2]string `json:"yes_no"`
	Scales       map[string][]string  `json:"scales"`
	Comparatives []struct {
		Words string   `json:"words"`
		Steps int      `json:"steps"`
		About []string `json:"about"`
	} `json:"comparatives"`
	States     map[string]string `json:"states"`
	CityStates map[string]string `json:"city_states"`
	CityNames  map[string]string `json:"city_names"`
	Units      map[string]string `json:"units"`
}

func readLexicon() (read vocabulary) {
	if err := json.Unmarshal(lexiconText, &read); err != nil {
		panic(err)
	}
	return read
}

// set of strings.
type set map[string]bool

func setOf(names ...string) set {
	made := set{}
	for _, name := range names {
		made[name] = true
	}
	return made
}

func (s set) key() string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, "|")
}

const (
	none    = "" // no intent
	toKeep  = "keep"
	toBack  = "return"
	toSwap  = "change"
	toStop  = "cancel"
	toPlace = "address"
)

func unique(found []string) []string {
	seen := set{}
	var distinct []string
	for _, each := range found {
		if !seen[each] {
			distinct = append(distinct, each)
		}
		seen[each] = true
	}
	return distinct
}

func groups(found []*Match, number int) []string {
	var texts []string
	for _, m := range found {
		texts = append(texts, m.group(number))
	}
	return texts
}

func contains(list []string, wanted string) bool {
	for _, each := range list {
		if each == wanted {
			return true
		}
	}
	return false
}

func most(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func least(a, b int) int { return -most(-a, -b) }

// capitalized is a word with its first character upper and the others lower.
func capitalized(word string) string {
	in := text(strings.ToLower(word))
	if len(in) > 0 {
		in[0] = unicode.ToUpper(in[0])
	}
	return string(in)
}

func whole(s string) int { n, _ := strconv.Atoi(s); return n }
