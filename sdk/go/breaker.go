package millrace

import (
	"encoding/json"
	"time"
)

// Breaker stops the starts of jobs while too many attempts fail, and then lets a few probes run.
type Breaker struct {
	FailureRate float64       // above 0 to 1: the share of attempts that may fail
	MinAttempts int           // ... of at least this many within Window
	Window      time.Duration // 1 s to 1 h
	Open        time.Duration // how long nothing starts, 100 ms to 24 h
	Probes      int           // jobs that run after that; the breaker closes if all succeed
}

// NoBreaker returns a Breaker for QueueSettings that never opens.
func NoBreaker() *Breaker { return &Breaker{} }

// MarshalJSON writes the API's form.
func (b Breaker) MarshalJSON() ([]byte, error) {
	if b == (Breaker{}) {
		return null, nil
	}
	return json.Marshal(wireBreaker{b.FailureRate, b.MinAttempts, milliseconds(b.Window), milliseconds(b.Open), b.Probes})
}

// UnmarshalJSON reads the API's form.
func (b *Breaker) UnmarshalJSON(data []byte) error {
	var w wireBreaker
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*b = Breaker{w.FailureRate, w.MinAttempts, durationOf(w.WindowMs), durationOf(w.OpenMs), w.Probes}
	return nil
}

type wireBreaker struct {
	FailureRate float64 `json:"failure_rate"`
	MinAttempts int     `json:"min_attempts"`
	WindowMs    int64   `json:"window_ms"`
	OpenMs      int64   `json:"open_ms"`
	Probes      int     `json:"probes"`
}

// QueueBlocker is a closed gate that holds ready jobs of a queue back.
type QueueBlocker struct {
	// Code is queue_paused, type_paused, limit_paused, order, limit_full, rate, retry_rate,
	// breaker_open, slow_down or share.
	Code string `json:"code"`
	// Limit is the name of the limit, or of the type or queue that owns the gate; LimitKind says which.
	Limit     string `json:"limit,omitempty"`
	LimitKind string `json:"limit_kind,omitempty"`
	Key       string `json:"key,omitempty"` // set if the limit is closed for this key only
	Reason    string `json:"reason,omitempty"`
	// InUse is the number of slots taken, of Concurrency.
	InUse       int64 `json:"in_use,omitempty"`
	Concurrency int64 `json:"concurrency,omitempty"`
	// Waiting is the number of jobs that must pass the gate. More: the server looked at only a part of
	// the jobs.
	Waiting int64 `json:"waiting"`
	More    bool  `json:"more"`
	// Until is when the gate opens by itself or has a token; nil: unknown.
	Until       *time.Time `json:"until,omitempty"`
	AvailableAt *time.Time `json:"available_at,omitempty"`
}
