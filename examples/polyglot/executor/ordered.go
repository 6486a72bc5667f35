// JSON with the order of its fields kept: an order's place among others, and an option's, decides what is meant first.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Object is a JSON object in the order in which it was written. Numbers are kept as they stand (json.Number).
type Object struct {
	keys   []string
	values map[string]any
}

func object(pairs ...any) *Object {
	made := &Object{values: map[string]any{}}
	for i := 0; i < len(pairs); i += 2 {
		made.set(pairs[i].(string), pairs[i+1])
	}
	return made
}

func (o *Object) set(key string, value any) {
	if _, known := o.values[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Reading what is not there, or is something else, gives the empty value of its kind.

func (o *Object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *Object) has(key string) bool {
	if o == nil {
		return false
	}
	_, known := o.values[key]
	return known
}

func (o *Object) text(key string) string {
	s, _ := o.get(key).(string)
	return s
}

func (o *Object) object(key string) *Object {
	found, _ := o.get(key).(*Object)
	return found
}

func (o *Object) list(key string) []any {
	found, _ := o.get(key).([]any)
	return found
}

func (o *Object) number(key string) float64 { return number(o.get(key)) }

func number(value any) float64 {
	n, _ := value.(json.Number)
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// each calls on every field that is an object, in order.
func (o *Object) each(visit func(key string, value *Object)) {
	if o == nil {
		return
	}
	for _, key := range o.keys {
		if value, is := o.values[key].(*Object); is {
			visit(key, value)
		}
	}
}

// MarshalJSON writes the fields in their order.
func (o *Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := plain(key)
		value, err := plain(o.values[key])
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// plain is JSON without the escapes that are for HTML.
func plain(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

const deepest = 100 // levels; a reader that calls itself must not be led down for ever

func parse(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := next(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the JSON value")
	}
	return value, nil
}

func next(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > deepest {
		return nil, fmt.Errorf("nested deeper than %d levels", deepest)
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := next(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		made := object()
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := next(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			made.set(key.(string), value)
		}
		_, err = decoder.Token()
		return made, err
	}
	return token, nil
}

// same says whether two JSON values are equal: objects in any order, numbers by value.
func same(a, b any) bool {
	switch x := a.(type) {
	case *Object:
		y, is := b.(*Object)
		if !is || len(x.keys) != len(y.keys) {
			return false
		}
		for _, key := range x.keys {
			if !y.has(key) || !same(x.values[key], y.values[key]) {
				return false
			}
		}
		return true
	case []any:
		y, is := b.([]any)
		if !is || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, is := b.(json.Number)
		return is && number(x) == number(y)
	}
	return a == b
}
