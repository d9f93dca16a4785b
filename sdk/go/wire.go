package millrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// This file has the API's forms of instants and durations, and writes JSON where encoding/json would
// be slow or would change raw values.

const timeLayout = "2006-01-02T15:04:05.000Z"

// wireTime is an instant; null is the zero time.
type wireTime time.Time

func (t wireTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return appendTime(nil, time.Time(t)), nil
}

func (t *wireTime) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*time.Time)(t)) }

// wireMs is a duration in milliseconds; null is 0.
type wireMs time.Duration

func (d wireMs) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, milliseconds(time.Duration(d)), 10), nil
}

func (d *wireMs) UnmarshalJSON(data []byte) error { return (*wireDuration)(d).UnmarshalJSON(data) }

// wireDuration is a duration in milliseconds that may be 0.
type wireDuration time.Duration

func (d wireDuration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, milliseconds(time.Duration(d)), 10), nil
}

func (d *wireDuration) UnmarshalJSON(data []byte) error {
	var ms int64
	err := json.Unmarshal(data, &ms)
	*d = wireDuration(durationOf(ms))
	return err
}

// wireDelay is a duration in milliseconds, whose 0 is NoDelay.
type wireDelay time.Duration

func (d wireDelay) MarshalJSON() ([]byte, error) { return wireDuration(d).MarshalJSON() }

func (d *wireDelay) UnmarshalJSON(data []byte) error {
	err := (*wireDuration)(d).UnmarshalJSON(data)
	if *d == 0 {
		*d = wireDelay(NoDelay)
	}
	return err
}

// wireCount is a number whose zero value means "not set", so that an explicit 0, which the server must
// refuse, becomes -1.
type wireCount int

func (n *wireCount) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*int)(n))
	if *n == 0 {
		*n = -1
	}
	return err
}

// wireNumber is a number; null is 0.
type wireNumber int

func (n wireNumber) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return null, nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// durationOf saturates: ten years fit, but a value too large for a Duration must not wrap around.
func durationOf(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(max(-most, min(ms, most))) * time.Millisecond
}

// milliseconds rounds up, so that nothing comes too early.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

// wireText is a text; null is the empty one.
type wireText string

func (t wireText) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return appendString(nil, string(t)), nil
}

func converted[To, From ~int64](from []From) []To {
	if from == nil {
		return nil
	}
	to := make([]To, len(from))
	for i, value := range from {
		to[i] = To(value)
	}
	return to
}

func times(from []wireTime) []time.Time {
	to := make([]time.Time, len(from))
	for i, t := range from {
		to[i] = time.Time(t)
	}
	return to
}

func wireTimes(from []time.Time) []wireTime {
	to := make([]wireTime, len(from))
	for i, t := range from {
		to[i] = wireTime(t)
	}
	return to
}

// filled returns a list that is not written as null.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func filledMap[T any](values map[string]T) map[string]T {
	if values == nil {
		return map[string]T{}
	}
	return values
}

// orNil and listOf keep an empty list apart from none.

func orNil[T any](list []T) *[]T {
	if list == nil {
		return nil
	}
	return &list
}

func listOf[T any](list *[]T) []T {
	if list == nil {
		return nil
	}
	return *list
}

// payloadOf returns nil if there is no payload.
func payloadOf(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return raw
}

// A setting is absent (nil), null (the value of none) or has a value.

func readSettable[T any](raw json.RawMessage, none func() *T, failed *error) *T {
	if raw == nil {
		return nil
	}
	value := none()
	if string(raw) != "null" {
		*failed = errors.Join(*failed, json.Unmarshal(raw, value))
	}
	return value
}

func readSettableMs(raw json.RawMessage, failed *error) *time.Duration {
	none := func() *wireDuration { return Ptr(wireDuration(Forever)) }
	return (*time.Duration)(readSettable(raw, none, failed))
}

func readCount(raw json.RawMessage, failed *error) int {
	if count := readSettable(raw, func() *int { return Ptr(JobsOwn) }, failed); count != nil {
		return *count
	}
	return 0
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// appendString writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			start = i + 1
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// members writes the members of one JSON object.
type members struct {
	b     []byte
	first bool
}

func openObject(b []byte) members { return members{append(b, '{'), true} }

func (m *members) close() []byte { return append(m.b, '}') }

func (m *members) key(name string) {
	if !m.first {
		m.b = append(m.b, ',')
	}
	m.first = false
	m.b = append(m.b, '"')
	m.b = append(m.b, name...)
	m.b = append(m.b, '"', ':')
}

func (m *members) text(name, value string) {
	m.key(name)
	m.b = appendString(m.b, value)
}

func (m *members) number(name string, value int64) {
	m.key(name)
	m.b = strconv.AppendInt(m.b, value, 10)
}

func (m *members) boolean(name string, value bool) {
	m.key(name)
	m.b = strconv.AppendBool(m.b, value)
}

func (m *members) raw(name string, value []byte) {
	m.key(name)
	m.b = append(m.b, value...)
}

func (m *members) texts(name string, values []string) {
	m.key(name)
	m.b = append(m.b, '[')
	for i, value := range values {
		if i > 0 {
			m.b = append(m.b, ',')
		}
		m.b = appendString(m.b, value)
	}
	m.b = append(m.b, ']')
}

type appender[T any] interface {
	*T
	append(to []byte) ([]byte, error)
}

// appendAll writes a list. An error names the item.
func appendAll[T any, P appender[T]](m *members, name string, items []T) error {
	m.key(name)
	m.b = append(m.b, '[')
	for i := range items {
		if i > 0 {
			m.b = append(m.b, ',')
		}
		var err error
		if m.b, err = P(&items[i]).append(m.b); err != nil {
			return fmt.Errorf("%s/%d: %w", name, i, err)
		}
	}
	m.b = append(m.b, ']')
	return nil
}

// The following methods leave a member out if its value is zero.

func (m *members) maybeText(name, value string) {
	if value != "" {
		m.text(name, value)
	}
}

func (m *members) maybeNumber(name string, value int) {
	if value != 0 {
		m.number(name, int64(value))
	}
}

func (m *members) maybeMs(name string, value time.Duration) {
	if value != 0 {
		m.number(name, milliseconds(value))
	}
}

func (m *members) maybeTime(name string, value time.Time) {
	if !value.IsZero() {
		m.key(name)
		m.b = appendTime(m.b, value)
	}
}

func (m *members) maybeBoolean(name string, value bool) {
	if value {
		m.boolean(name, true)
	}
}

// The following methods write a setting; its value for "none" is written as null.

func (m *members) settableNumber(name string, value *int) {
	switch {
	case value == nil:
	case *value == -1:
		m.raw(name, null)
	default:
		m.number(name, int64(*value))
	}
}

// settableCount takes 0 for "absent".
func (m *members) settableCount(name string, value int) {
	if value != 0 {
		m.settableNumber(name, &value)
	}
}

func (m *members) settableMs(name string, value *time.Duration) {
	switch {
	case value == nil:
	case *value == Forever:
		m.raw(name, null)
	default:
		m.number(name, milliseconds(*value))
	}
}

// value writes any value that encoding/json can write.
func (m *members) value(name string, value any) error {
	raw, err := marshal(value)
	if err == nil {
		m.raw(name, raw)
	}
	return err
}

// Encode returns the JSON that the SDK sends for a payload or a result: without HTML escapes, and with
// a json.RawMessage byte for byte.
func Encode(value any) (json.RawMessage, error) { return marshal(value) }

var null = []byte("null")

// marshal is like json.Marshal, but leaves raw JSON unchanged and does not escape HTML.
func marshal(value any) ([]byte, error) {
	if raw, ok := value.(json.RawMessage); ok {
		if raw == nil {
			return []byte("null"), nil
		}
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return nil, errors.New("the raw value is not JSON")
		}
		return raw, nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("%T is not JSON: %w", value, err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
