package millrace

import (
	"encoding/json"
	"time"
)

// NewJob is a job to be submitted. Only Type is required. The server checks the bounds, which the API's
// documentation lists, and answers with ErrValidationFailed.
type NewJob struct {
	// ID is a UUIDv7 as returned by MakeID. Submitting the same ID again returns the stored job. If
	// empty, Submit makes an ID unless there is an IdempotencyKey.
	ID   string `json:"id"`
	Type string `json:"type"`
	// Queue is the queue in which the job waits. Empty means DefaultQueue.
	Queue string `json:"queue"`
	// Payload is any value that encoding/json can write, at most 1 MiB of JSON. A json.RawMessage is
	// sent byte for byte. Nil is sent as null.
	Payload any `json:"-"`
	// Priority is -32768 to 32767. Jobs with a lower number run first.
	Priority int `json:"priority"`
	// RunAt is the earliest start. It excludes Delay.
	RunAt time.Time `json:"run_at"`
	// Delay is the time until the earliest start, at most 10 years.
	Delay time.Duration `json:"-"`
	// ExpiresAt is when the job expires if it has not started. It excludes ExpiresIn.
	ExpiresAt time.Time     `json:"expires_at"`
	ExpiresIn time.Duration `json:"-"`
	// MaxAttempts is 1 to 1000. 0 means the queue's setting.
	MaxAttempts int `json:"max_attempts"`
	// Retry says when the job is retried after a failed attempt. Nil means the queue's policy.
	Retry *RetryPolicy `json:"retry"`
	// Lease is the length of the worker's lease, 1 s to 24 h. 0 means the queue's setting.
	Lease time.Duration `json:"-"`
	// Timeout bounds each attempt. 0 means no bound.
	Timeout time.Duration `json:"-"`
	// Unique allows only one job per key. Nil means no such bound.
	Unique *UniqueKey `json:"unique"`
	// Tags has at most 32 entries.
	Tags []string `json:"tags"`
	// Limits are the limits that the job must pass to start, at most 8 including those of its queue.
	Limits []JobLimit `json:"limits"`
	// OrderKey makes the jobs of a queue with the same key run one at a time, in order. OrderOnFailure
	// says whether a job that is retried holds its successors back: "hold" (the default) or "pass".
	OrderKey       string `json:"order_key"`
	OrderOnFailure string `json:"order_on_failure"`
	// FairKey names the share that the job counts against, if the queue is shared fairly.
	FairKey string `json:"fair_key"`
	// Meta holds strings of the application, at most 8 KiB.
	Meta map[string]string `json:"meta"`
	// Traceparent and Tracestate are the W3C trace context. If empty, those of Options.Trace or of the
	// submitting handler's job are used.
	Traceparent string `json:"traceparent"`
	Tracestate  string `json:"tracestate"`
	// IdempotencyKey is visible ASCII text of at most 255 bytes. Within 24 hours (a server setting), a
	// submission with the same key returns the same job.
	IdempotencyKey string `json:"idempotency_key"`
}

// RetryPolicy says how long a job waits after a failed attempt: Base * 2^(n-1) after attempt n
// (exponential), Base * n (linear) or Base (fixed), at most Max, and varied randomly by up to the
// fraction Jitter. The strategy "list" uses Delays in turn; the last one repeats.
type RetryPolicy struct {
	Strategy string          // exponential, linear, fixed or list
	Base     time.Duration   // 0: 5 s
	Max      time.Duration   // 0: 5 min
	Jitter   *float64        // 0 to 1; nil: 0.2
	Delays   []time.Duration // for "list": 1 to 100 delays
}

type wireRetry struct {
	Strategy string   `json:"strategy"`
	BaseMs   *int64   `json:"base_ms,omitempty"`
	MaxMs    *int64   `json:"max_ms,omitempty"`
	Jitter   *float64 `json:"jitter,omitempty"`
	DelaysMs []int64  `json:"delays_ms,omitempty"`
}

// NoDelay as Base or Max means no time at all; 0 means the default.
const NoDelay time.Duration = -1

// MarshalJSON writes the API's form.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	w := wireRetry{Strategy: p.Strategy, BaseMs: retryMs(p.Base), MaxMs: retryMs(p.Max), Jitter: p.Jitter}
	for _, delay := range p.Delays {
		w.DelaysMs = append(w.DelaysMs, milliseconds(delay))
	}
	return json.Marshal(w)
}

func retryMs(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := milliseconds(d)
	return &ms
}

// UnmarshalJSON reads the API's form.
func (p *RetryPolicy) UnmarshalJSON(data []byte) error {
	var w wireRetry
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*p = RetryPolicy{
		Strategy: w.Strategy, Base: retryDuration(w.BaseMs), Max: retryDuration(w.MaxMs), Jitter: w.Jitter,
	}
	for _, ms := range w.DelaysMs {
		p.Delays = append(p.Delays, durationOf(ms))
	}
	return nil
}

func retryDuration(ms *int64) time.Duration {
	switch {
	case ms == nil:
		return 0
	case *ms == 0:
		return NoDelay
	}
	return durationOf(*ms)
}

// UniqueKey allows one job per key within a queue. The key is held until the job has ended and at least
// for the time For after the submission.
type UniqueKey struct {
	Key string // 1 to 255 bytes
	For time.Duration
	// OnConflict says how another submission with the key is handled: "return" the holder (the
	// default), "reject" it with ErrDuplicateJob, or "replace" a holder that still waits.
	OnConflict string
}

type wireUnique struct {
	Key        string `json:"key"`
	ForMs      *int64 `json:"for_ms"`
	OnConflict string `json:"on_conflict"`
}

// MarshalJSON writes the API's form of an answer.
func (u UniqueKey) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireUnique{u.Key, retryMs(u.For), u.OnConflict})
}

// UnmarshalJSON reads the API's form.
func (u *UniqueKey) UnmarshalJSON(data []byte) error {
	var w wireUnique
	err := json.Unmarshal(data, &w)
	*u = UniqueKey{Key: w.Key, OnConflict: w.OnConflict}
	if w.ForMs != nil {
		u.For = durationOf(*w.ForMs)
	}
	return err
}

// append writes the API's form of a submission.
func (j *NewJob) append(b []byte) ([]byte, error) {
	m := openObject(b)
	m.maybeText("id", j.ID)
	m.text("type", j.Type)
	m.maybeText("queue", j.Queue)
	if j.Payload != nil {
		if err := m.value("payload", j.Payload); err != nil {
			return nil, err
		}
	}
	m.maybeNumber("priority", j.Priority)
	m.maybeTime("run_at", j.RunAt)
	m.maybeMs("delay_ms", j.Delay)
	m.maybeTime("expires_at", j.ExpiresAt)
	m.maybeMs("expires_in_ms", j.ExpiresIn)
	m.maybeNumber("max_attempts", j.MaxAttempts)
	if j.Retry != nil {
		if err := m.value("retry", j.Retry); err != nil {
			return nil, err
		}
	}
	m.maybeMs("lease_ms", j.Lease)
	m.maybeMs("timeout_ms", j.Timeout)
	if j.Unique != nil {
		m.key("unique")
		u := openObject(m.b)
		u.text("key", j.Unique.Key)
		u.maybeMs("for_ms", j.Unique.For)
		u.maybeText("on_conflict", j.Unique.OnConflict)
		m.b = u.close()
	}
	if len(j.Tags) > 0 {
		m.texts("tags", j.Tags)
	}
	if len(j.Limits) > 0 {
		if err := m.value("limits", j.Limits); err != nil {
			return nil, err
		}
	}
	m.maybeText("order_key", j.OrderKey)
	m.maybeText("order_on_failure", j.OrderOnFailure)
	m.maybeText("fair_key", j.FairKey)
	if len(j.Meta) > 0 {
		if err := m.value("meta", j.Meta); err != nil {
			return nil, err
		}
	}
	m.maybeText("traceparent", j.Traceparent)
	m.maybeText("tracestate", j.Tracestate)
	m.maybeText("idempotency_key", j.IdempotencyKey)
	return m.close(), nil
}

// MarshalJSON writes the API's form, with the idempotency key as in a batch.
func (j NewJob) MarshalJSON() ([]byte, error) { return j.append(nil) }

type plainNewJob NewJob

// UnmarshalJSON reads the API's form, with the idempotency key as in a batch. Payload becomes a
// json.RawMessage.
func (j *NewJob) UnmarshalJSON(data []byte) error {
	wire := struct {
		*plainNewJob
		Payload     json.RawMessage `json:"payload"`
		DelayMs     wireMs          `json:"delay_ms"`
		ExpiresInMs wireMs          `json:"expires_in_ms"`
		LeaseMs     wireMs          `json:"lease_ms"`
		TimeoutMs   wireMs          `json:"timeout_ms"`
		MaxAttempts *int            `json:"max_attempts"`
	}{plainNewJob: (*plainNewJob)(j)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	if wire.Payload != nil {
		j.Payload = wire.Payload
	}
	if wire.MaxAttempts != nil {
		j.MaxAttempts = *wire.MaxAttempts
		if j.MaxAttempts == 0 {
			j.MaxAttempts = -1 // the server must refuse an explicit 0; here 0 means "not set"
		}
	}
	j.Delay, j.ExpiresIn = time.Duration(wire.DelayMs), time.Duration(wire.ExpiresInMs)
	j.Lease, j.Timeout = time.Duration(wire.LeaseMs), time.Duration(wire.TimeoutMs)
	return nil
}

// JobOption sets a member of a NewJob.
type JobOption interface{ applyToJob(*NewJob) }

type jobOption func(*NewJob)

func (o jobOption) applyToJob(j *NewJob) { o(j) }

// ID sets the job's id, one returned by MakeID.
func ID(id string) JobOption { return jobOption(func(j *NewJob) { j.ID = id }) }

// Queue names the queue in which the job waits.
func Queue(name string) JobOption { return jobOption(func(j *NewJob) { j.Queue = name }) }

// Priority sets the priority. Jobs with a lower number run first.
func Priority(priority int) JobOption { return jobOption(func(j *NewJob) { j.Priority = priority }) }

// Delay makes the job wait at least this long before its first attempt.
func Delay(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Delay = d }) }

// RunAt makes the job wait until an instant.
func RunAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.RunAt = at }) }

// ExpiresIn makes the job expire if it has not started within this time.
func ExpiresIn(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.ExpiresIn = d }) }

// ExpiresAt makes the job expire if it has not started by then.
func ExpiresAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.ExpiresAt = at }) }

// MaxAttempts bounds the attempts, 1 to 1000.
func MaxAttempts(n int) JobOption { return jobOption(func(j *NewJob) { j.MaxAttempts = n }) }

// Retry sets the retry policy.
func Retry(policy RetryPolicy) JobOption { return jobOption(func(j *NewJob) { j.Retry = &policy }) }

// Timeout bounds each attempt.
func Timeout(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Timeout = d }) }

// Unique allows only one job with this key.
func Unique(key UniqueKey) JobOption { return jobOption(func(j *NewJob) { j.Unique = &key }) }

// Tags adds tags.
func Tags(tags ...string) JobOption {
	return jobOption(func(j *NewJob) { j.Tags = append(append([]string(nil), j.Tags...), tags...) })
}

// Meta adds a string of the application.
func Meta(key, value string) JobOption {
	return jobOption(func(j *NewJob) {
		meta := map[string]string{key: value}
		for k, v := range j.Meta {
			if k != key {
				meta[k] = v
			}
		}
		j.Meta = meta
	})
}

// Trace sets the W3C trace context.
func Trace(traceparent, tracestate string) JobOption {
	return jobOption(func(j *NewJob) { j.Traceparent, j.Tracestate = traceparent, tracestate })
}

// IdempotencyKey makes a repeated submission return the job of the first one.
func IdempotencyKey(key string) JobOption {
	return jobOption(func(j *NewJob) { j.IdempotencyKey = key })
}

// LeaseOption is returned by Lease. It is an option of jobs and of workers.
type LeaseOption time.Duration

func (o LeaseOption) applyToJob(j *NewJob)          { j.Lease = time.Duration(o) }
func (o LeaseOption) applyToWorker(w *workerConfig) { w.lease = time.Duration(o) }

// Lease sets the length of leases, 1 s to 24 h, of a job or of all jobs that a worker claims.
func Lease(d time.Duration) LeaseOption { return LeaseOption(d) }
