package millrace

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// QueueSettings are the settings of a queue. PutQueue gives members that are nil or zero their
// defaults; PatchQueue leaves them unchanged.
type QueueSettings struct {
	MaxAttempts int          // 1 to 1000; default 5
	Retry       *RetryPolicy // for jobs without a policy of their own
	// Lease is 1 s to 24 h; default 30 s.
	Lease time.Duration
	// MaxCrashes is the number of lost workers after which a job is dead. JobsOwn, the default, stands
	// for the job's MaxAttempts.
	MaxCrashes int
	// MaxReady is the number of ready jobs from which submissions fail with ErrQueueFull. Unbounded is
	// the default.
	MaxReady *int
	// Concurrency is the maximum number of the queue's jobs that run at once. Unbounded is the default.
	Concurrency *int
	// Rate bounds how many jobs of the queue start in each period. NoRate is the default.
	Rate *Rate
	// Breaker is the queue's breaker. NoBreaker is the default.
	Breaker *Breaker
	// Limits are added to each job submitted to the queue. In PatchQueue an empty slice that is not nil
	// removes them.
	Limits []JobLimit
	// Fair shares the queue between the FairKeys of its jobs. With NoFair, the default, keys are ignored.
	Fair *Fair
	// Ageing is the waiting time that is worth one step of priority. NoAgeing is the default. A queue
	// has Fair or Ageing, not both.
	Ageing *time.Duration
	// MaxReadyPerKey is the number of ready jobs with the same FairKey from which submissions are
	// refused. Unbounded is the default.
	MaxReadyPerKey *int
	// Retention is how long jobs are kept after their end. Forever keeps them. The defaults are a day,
	// and 30 days for dead jobs.
	Retention Retention
}

// Fair says how a queue is shared: within one priority, keys are served in proportion to their weights.
type Fair struct {
	// Weights maps keys to weights, 1 to 1000; "" stands for jobs without a key. Other keys have
	// DefaultWeight.
	Weights       map[string]int
	DefaultWeight int // 0: 1
	// By is what is shared: "time" (running time, the default) or "starts".
	By string
	// Off makes the queue ignore keys.
	Off bool
}

// NoFair returns a Fair for QueueSettings that turns sharing off.
func NoFair() *Fair { return &Fair{Off: true} }

// NoAgeing returns an Ageing for QueueSettings that never raises a priority: priorities are strict.
func NoAgeing() *time.Duration { return Ptr(Forever) }

// MarshalJSON writes the API's form.
func (f Fair) MarshalJSON() ([]byte, error) {
	if f.Off {
		return null, nil
	}
	m := openObject(nil)
	if f.Weights != nil {
		if err := m.value("weights", f.Weights); err != nil {
			return nil, err
		}
	}
	m.maybeNumber("default_weight", f.DefaultWeight)
	m.maybeText("by", f.By)
	return m.close(), nil
}

// UnmarshalJSON reads the API's form.
func (f *Fair) UnmarshalJSON(data []byte) error {
	var w struct {
		Weights       map[string]int `json:"weights"`
		DefaultWeight int            `json:"default_weight"`
		By            string         `json:"by"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*f = Fair{Weights: w.Weights, DefaultWeight: w.DefaultWeight, By: w.By}
	return nil
}

// Rate is a token bucket of starts: Limit in each period Per, and Burst at once after a pause.
type Rate struct {
	Limit int
	Per   time.Duration
	Burst int // 0: Limit
}

// NoRate returns a Rate for QueueSettings without a bound.
func NoRate() *Rate { return &Rate{} }

// MarshalJSON writes the API's form.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r == (Rate{}) {
		return null, nil
	}
	m := openObject(nil)
	m.number("limit", int64(r.Limit))
	m.number("per_ms", milliseconds(r.Per))
	m.maybeNumber("burst", r.Burst)
	return m.close(), nil
}

// UnmarshalJSON reads the API's form.
func (r *Rate) UnmarshalJSON(data []byte) error {
	var w struct {
		Limit int    `json:"limit"`
		PerMs wireMs `json:"per_ms"`
		Burst int    `json:"burst"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*r = Rate{Limit: w.Limit, Per: time.Duration(w.PerMs), Burst: w.Burst}
	return nil
}

// JobLimit is a limit that a job must pass to start.
type JobLimit struct {
	Name string `json:"name"`
	// Key is required if the limit counts by key, and not allowed otherwise.
	Key string `json:"key,omitempty"`
	// KeyFrom is allowed in a queue's limit only: with "fair_key", each job's FairKey is its key.
	KeyFrom string `json:"key_from,omitempty"`
	// Cost is the cost of a start against the limit's rate; 0 stands for 1.
	Cost int `json:"cost,omitempty"`
}

// Retention is how long jobs are kept, by how they ended. Nil stands for the default, or in PatchQueue
// for the present value; 0 keeps none.
type Retention struct {
	Succeeded, Dead, Cancelled, Expired *time.Duration
}

const (
	// JobsOwn as MaxCrashes stands for the job's MaxAttempts.
	JobsOwn = -1
	// Forever as a time of Retention keeps jobs without end.
	Forever time.Duration = -1
)

// Unbounded returns the value without a bound for MaxReady, Concurrency and MaxReadyPerKey.
func Unbounded() *int { return Ptr(-1) }

// Ptr returns a pointer to a copy of a value, for members that distinguish 0 from "not set".
func Ptr[T any](value T) *T { return &value }

func (s *QueueSettings) encode() ([]byte, error) {
	m := openObject(nil)
	m.maybeNumber("max_attempts", s.MaxAttempts)
	switch {
	case s.MaxCrashes == JobsOwn:
		m.raw("max_crashes", null)
	default:
		m.maybeNumber("max_crashes", s.MaxCrashes)
	}
	if s.Retry != nil {
		if err := m.value("retry", s.Retry); err != nil {
			return nil, err
		}
	}
	m.maybeMs("lease_ms", s.Lease)
	if s.MaxReady != nil {
		if *s.MaxReady == -1 {
			m.raw("max_ready", null)
		} else {
			m.number("max_ready", int64(*s.MaxReady))
		}
	}
	if s.Concurrency != nil {
		if *s.Concurrency == -1 {
			m.raw("concurrency", null)
		} else {
			m.number("concurrency", int64(*s.Concurrency))
		}
	}
	if s.Rate != nil {
		if err := m.value("rate", s.Rate); err != nil {
			return nil, err
		}
	}
	if s.Breaker != nil {
		if err := m.value("breaker", s.Breaker); err != nil {
			return nil, err
		}
	}
	if s.MaxReadyPerKey != nil {
		if *s.MaxReadyPerKey == -1 {
			m.raw("max_ready_per_key", null)
		} else {
			m.number("max_ready_per_key", int64(*s.MaxReadyPerKey))
		}
	}
	if s.Limits != nil {
		if err := m.value("limits", s.Limits); err != nil {
			return nil, err
		}
	}
	if s.Fair != nil {
		if err := m.value("fair", s.Fair); err != nil {
			return nil, err
		}
	}
	if s.Ageing != nil {
		if *s.Ageing == Forever {
			m.raw("ageing_ms", null)
		} else {
			m.number("ageing_ms", milliseconds(*s.Ageing))
		}
	}
	if s.Retention != (Retention{}) {
		m.key("retention")
		kept := openObject(m.b)
		for name, d := range s.Retention.byName() {
			switch {
			case *d == nil:
			case **d == Forever:
				kept.raw(name, null)
			default:
				kept.number(name, milliseconds(**d))
			}
		}
		m.b = kept.close()
	}
	return m.close(), nil
}

var null = []byte("null")

func (r *Retention) byName() map[string]**time.Duration {
	return map[string]**time.Duration{
		"succeeded_ms": &r.Succeeded, "dead_ms": &r.Dead, "cancelled_ms": &r.Cancelled, "expired_ms": &r.Expired,
	}
}

// MarshalJSON writes the API's form.
func (s QueueSettings) MarshalJSON() ([]byte, error) { return s.encode() }

// UnmarshalJSON reads the API's form. It distinguishes members that are null from missing ones.
func (s *QueueSettings) UnmarshalJSON(data []byte) error {
	var w struct {
		MaxAttempts int                        `json:"max_attempts"`
		MaxCrashes  json.RawMessage            `json:"max_crashes"`
		Retry       *RetryPolicy               `json:"retry"`
		LeaseMs     wireMs                     `json:"lease_ms"`
		MaxReady    json.RawMessage            `json:"max_ready"`
		Concurrency json.RawMessage            `json:"concurrency"`
		Rate        json.RawMessage            `json:"rate"`
		Limits      []JobLimit                 `json:"limits"`
		Fair        json.RawMessage            `json:"fair"`
		Breaker     json.RawMessage            `json:"breaker"`
		MaxOfKey    json.RawMessage            `json:"max_ready_per_key"`
		AgeingMs    json.RawMessage            `json:"ageing_ms"`
		Retention   map[string]json.RawMessage `json:"retention"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = QueueSettings{MaxAttempts: w.MaxAttempts, Retry: w.Retry, Lease: time.Duration(w.LeaseMs)}
	crashes, err := numberOrNull(w.MaxCrashes)
	if err != nil {
		return err
	}
	if crashes != nil {
		s.MaxCrashes = int(*crashes)
	}
	ready, err := numberOrNull(w.MaxReady)
	if err != nil {
		return err
	}
	if ready != nil {
		s.MaxReady = Ptr(int(*ready))
	}
	s.Limits = w.Limits
	if len(w.Breaker) > 0 {
		s.Breaker = NoBreaker()
		if string(w.Breaker) != "null" {
			if err := json.Unmarshal(w.Breaker, s.Breaker); err != nil {
				return err
			}
		}
	}
	ofKey, err := numberOrNull(w.MaxOfKey)
	if err != nil {
		return err
	}
	if ofKey != nil {
		s.MaxReadyPerKey = Ptr(int(*ofKey))
	}
	if len(w.Fair) > 0 {
		s.Fair = NoFair()
		if string(w.Fair) != "null" {
			if err := json.Unmarshal(w.Fair, s.Fair); err != nil {
				return err
			}
		}
	}
	ageing, err := numberOrNull(w.AgeingMs)
	if err != nil {
		return err
	}
	if ageing != nil {
		s.Ageing = NoAgeing()
		if *ageing >= 0 {
			s.Ageing = Ptr(time.Duration(*ageing) * time.Millisecond)
		}
	}
	slots, err := numberOrNull(w.Concurrency)
	if err != nil {
		return err
	}
	if slots != nil {
		s.Concurrency = Ptr(int(*slots))
	}
	if len(w.Rate) > 0 {
		s.Rate = NoRate()
		if string(w.Rate) != "null" {
			if err := json.Unmarshal(w.Rate, s.Rate); err != nil {
				return err
			}
		}
	}
	for name, kept := range s.Retention.byName() {
		ms, err := numberOrNull(w.Retention[name])
		if err != nil {
			return err
		}
		switch {
		case ms == nil:
		case *ms == -1:
			*kept = Ptr(Forever)
		default:
			*kept = Ptr(durationOf(*ms))
		}
	}
	return nil
}

// numberOrNull returns -1 for null, and nil if there is no member.
func numberOrNull(raw json.RawMessage) (*int64, error) {
	switch string(raw) {
	case "":
		return nil, nil
	case "null":
		return Ptr[int64](-1), nil
	}
	var n int64
	err := json.Unmarshal(raw, &n)
	return &n, err
}

// QueueInfo is a queue as the server shows it.
type QueueInfo struct {
	Name        string
	Paused      bool
	PauseReason string // empty if none was given
	Counts      Counts
	// OldestReadyAge is how long the oldest ready job has been due; nil if none is ready.
	OldestReadyAge *time.Duration
	Rates          Rates
	Settings       QueueSettings
	Version        int64 // rises with every change of the settings, pause or resume
	// BlockedBy lists the gates that hold ready jobs back, most jobs first; nil in lists and after
	// changes.
	BlockedBy []QueueBlocker
}

// Counts are the numbers of a queue's jobs, by state.
type Counts struct {
	Scheduled int64 `json:"scheduled"`
	Ready     int64 `json:"ready"`
	Running   int64 `json:"running"`
	Retrying  int64 `json:"retrying"`
	Blocked   int64 `json:"blocked"`
	Succeeded int64 `json:"succeeded"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`
	Expired   int64 `json:"expired"`
}

// Rates are jobs a second, over the last minute.
type Rates struct {
	Submitted float64 `json:"submitted_per_s"`
	Started   float64 `json:"started_per_s"`
	Succeeded float64 `json:"succeeded_per_s"`
	Failed    float64 `json:"failed_per_s"`
}

type wireQueue struct {
	Name        string        `json:"name"`
	Paused      bool          `json:"paused"`
	PauseReason wireText      `json:"pause_reason"`
	Counts      Counts        `json:"counts"`
	OldestMs    *int64        `json:"oldest_ready_age_ms"`
	Rates       Rates         `json:"rates"`
	Settings    QueueSettings `json:"settings"`
	Version     int64         `json:"version"`
	// Null and an empty list are different.
	BlockedBy *[]QueueBlocker `json:"blocked_by,omitempty"`
}

// UnmarshalJSON reads the API's form.
func (q *QueueInfo) UnmarshalJSON(data []byte) error {
	var w wireQueue
	err := json.Unmarshal(data, &w)
	*q = QueueInfo{
		Name: w.Name, Paused: w.Paused, PauseReason: string(w.PauseReason), Counts: w.Counts,
		Rates: w.Rates, Settings: w.Settings, Version: w.Version,
	}
	if w.OldestMs != nil {
		q.OldestReadyAge = Ptr(durationOf(*w.OldestMs))
	}
	if w.BlockedBy != nil {
		q.BlockedBy = *w.BlockedBy
	}
	return err
}

// MarshalJSON writes the API's form.
func (q QueueInfo) MarshalJSON() ([]byte, error) {
	w := wireQueue{q.Name, q.Paused, wireText(q.PauseReason), q.Counts, nil, q.Rates, q.Settings, q.Version, nil}
	if q.BlockedBy != nil {
		w.BlockedBy = &q.BlockedBy
	}
	if q.OldestReadyAge != nil {
		w.OldestMs = Ptr(milliseconds(*q.OldestReadyAge))
	}
	return json.Marshal(w)
}

// PageOf chooses a page of a list.
type PageOf struct {
	Limit  int    // 1 to 1000; 0: 50
	Cursor string // the NextCursor of the previous page
}

func (p *PageOf) set(q query) {
	q.setInt("limit", p.Limit)
	q.set("cursor", p.Cursor)
}

// Queues returns a page of the queues, by name.
func (c *Client) Queues(ctx context.Context, page PageOf) (*Page[QueueInfo], error) {
	q := query{}
	page.set(q)
	request := get("/v1/queues")
	request.query = url.Values(q)
	return fetch[Page[QueueInfo]](ctx, c, request)
}

func queuePath(name, rest string) string { return "/v1/queues/" + url.PathEscape(name) + rest }

// Queue returns a queue.
func (c *Client) Queue(ctx context.Context, name string) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, get(queuePath(name, "")))
}

// PutQueue creates a queue or replaces its settings. It accepts IfMatch.
func (c *Client) PutQueue(
	ctx context.Context, name string, settings QueueSettings, options ...CallOption,
) (*QueueInfo, error) {
	return c.setQueue(ctx, http.MethodPut, name, settings, options)
}

// PatchQueue changes the settings that are neither nil nor zero. It accepts IfMatch and Create. The
// call is not retried if the server may have begun it.
func (c *Client) PatchQueue(
	ctx context.Context, name string, settings QueueSettings, options ...CallOption,
) (*QueueInfo, error) {
	return c.setQueue(ctx, http.MethodPatch, name, settings, options)
}

func (c *Client) setQueue(
	ctx context.Context, method, name string, settings QueueSettings, options []CallOption,
) (*QueueInfo, error) {
	body, err := settings.encode()
	if err != nil {
		return nil, notJSON(err, "/retry")
	}
	request := call{method: method, path: queuePath(name, ""), body: body, once: method == http.MethodPatch}
	return fetch[QueueInfo](ctx, c, request, options...)
}

// PauseQueue stops the queue from handing out jobs. It still accepts submissions. The reason is for
// people, at most 1,024 bytes; it may be empty. PauseQueue accepts Create.
func (c *Client) PauseQueue(ctx context.Context, name, reason string, options ...CallOption) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, post(queuePath(name, "/pause"), reasonBody(reason)), options...)
}

// ResumeQueue makes the queue hand out jobs again.
func (c *Client) ResumeQueue(ctx context.Context, name string) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, post(queuePath(name, "/resume"), nil))
}

// DeleteQueue deletes a queue that has no jobs. With Force it also deletes the jobs, unless some are
// running.
func (c *Client) DeleteQueue(ctx context.Context, name string, options ...CallOption) error {
	return c.delete(ctx, queuePath(name, ""), options)
}
