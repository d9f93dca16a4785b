package millrace

import (
	"encoding/json"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestStringsAreWrittenAsJSON(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	alphabet := []string{"a", "é", "世", "\U0001f600", "\"", "\\", "\n", "\t", "\x00", "\x1f", "\x7f", "\xff", "\xe4\xb8", "<", "&", "\u2028", "\ufffd"}
	for i := 0; i < 2000; i++ {
		var text strings.Builder
		for n := random.Intn(12); n > 0; n-- {
			text.WriteString(alphabet[random.Intn(len(alphabet))])
		}
		written := appendString(nil, text.String())
		var read, want string
		if err := json.Unmarshal(written, &read); err != nil || !utf8.Valid(written) {
			t.Fatalf("%q is written as %q: %v", text.String(), written, err)
		}
		standard, _ := json.Marshal(text.String())
		_ = json.Unmarshal(standard, &want)
		if read != want {
			t.Fatalf("%q comes back as %q, not %q", text.String(), read, want)
		}
	}
}

func TestDurationsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, -time.Millisecond: -1, math.MaxInt64: math.MaxInt64/1_000_000 + 1,
	} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v is %d ms, not %d", d, got, want)
		}
	}
	if got := durationOf(math.MaxInt64); got < 290*365*24*time.Hour {
		t.Errorf("the longest duration is %v", got)
	}
}

func TestRawValuesStayAsTheyAre(t *testing.T) {
	raw := json.RawMessage("{ \"a\":  1.0 }")
	if got, err := Encode(raw); err != nil || string(got) != string(raw) {
		t.Errorf("%s became %s, %v", raw, got, err)
	}
	for _, bad := range []any{math.NaN(), make(chan int), json.RawMessage("{"), json.RawMessage("\"\xff\"")} {
		if got, err := Encode(bad); err == nil {
			t.Errorf("%v became %s", bad, got)
		}
	}
	if got, _ := Encode(map[string]string{"a": "<&>"}); string(got) != `{"a":"<&>"}` {
		t.Errorf("it is escaped: %s", got)
	}
}

func TestNewJobsComeBack(t *testing.T) {
	jitter := 0.25
	job := NewJob{
		ID: MakeID("q"), Type: "t", Queue: "q", Payload: json.RawMessage(`[1, 2]`), Priority: 3, RunAt: time.UnixMilli(1e12).UTC(),
		ExpiresIn: time.Second, MaxAttempts: 4, Retry: &RetryPolicy{Strategy: "list", Delays: []time.Duration{0, time.Second}, Jitter: &jitter},
		Lease: time.Minute, Timeout: time.Hour, Unique: &UniqueKey{Key: "k"}, Tags: []string{"a"}, Meta: map[string]string{"b": "c"},
		IdempotencyKey: "key",
	}
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var back NewJob
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(data) {
		t.Errorf("%s came back as %s", data, again)
	}
}

func TestQueueSettingsTellNullFromMissing(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"max_crashes":null}`, `{"max_ready":null}`, `{"max_ready":0}`, `{"retention":{"dead_ms":null}}`, `{"retention":{"dead_ms":0}}`,
	} {
		var settings QueueSettings
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(settings); string(got) != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
