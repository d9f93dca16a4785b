package millrace

import (
	"encoding/json"
	"time"
)

// NewJob is a job to be submitted. Only Type is needed. The API's documentation lists the bounds;
// the server checks them, and answers ErrValidationFailed.
type NewJob struct {
	// ID is a UUIDv7, as MakeID makes them. Submitted again, it returns the stored job. Empty: Submit
	// makes one, unless there is an IdempotencyKey.
	ID   string `json:"id"`
	Type string `json:"type"`
	// Queue is where the job waits. Empty: DefaultQueue.
	Queue string `json:"queue"`
	// Payload is anything that encoding/json can write, at most 1 MiB. A json.RawMessage is sent byte
	// for byte. Nil: null.
	Payload any `json:"-"`
	// Priority: lower runs first, from -32768 to 32767.
	Priority int `json:"priority"`
	// RunAt is the earliest start. Not together with Delay.
	RunAt time.Time `json:"run_at"`
	// Delay is the time until the earliest start, at most 10 years.
	Delay time.Duration `json:"-"`
	// ExpiresAt: a job that has not started by then is Expired. Not together with ExpiresIn.
	ExpiresAt time.Time     `json:"expires_at"`
	ExpiresIn time.Duration `json:"-"`
	// MaxAttempts is 1 to 1000. 0: the queue's.
	MaxAttempts int `json:"max_attempts"`
	// Retry says when failed attempts are tried again. Nil: as the queue says.
	Retry *RetryPolicy `json:"retry"`
	// Lease is the length of the worker's lease, 1 s to 24 h. 0: the queue's.
	Lease time.Duration `json:"-"`
	// Timeout bounds an attempt. 0: no bound.
	Timeout time.Duration `json:"-"`
	// Unique allows one job for each key. Nil: no bound.
	Unique *UniqueKey `json:"unique"`
	// Tags are at most 32.
	Tags []string `json:"tags"`
	// Limits that the job must pass to start; at most 8, those of its queue included.
	Limits []JobLimit `json:"limits"`
	// OrderKey: jobs of one key of a queue run one at a time, in order. OrderOnFailure is what a job
	// that is retried means for its successors: "hold" (the default) or "pass".
	OrderKey       string `json:"order_key"`
	OrderOnFailure string `json:"order_on_failure"`
	// FairKey: whose share of the queue the job takes, where the queue shares fairly.
	FairKey string `json:"fair_key"`
	// Meta are strings of your own, at most 8 KiB.
	Meta map[string]string `json:"meta"`
	// Traceparent and Tracestate are W3C trace context. Empty: those of Options.Trace, or of the
	// handler that submits.
	Traceparent string `json:"traceparent"`
	Tracestate  string `json:"tracestate"`
	// IdempotencyKey is any visible ASCII text of at most 255 bytes. Within 24 hours (a setting of the
	// server) a submission with the same key returns the same job.
	IdempotencyKey string `json:"idempotency_key"`
}

// RetryPolicy says how long a job waits after a failed attempt: Base * 2^(n-1) after attempt n
// (exponential), Base * n (linear) or Base (fixed), at most Max, moved by up to Jitter of itself. The
// strategy "list" names the delays; the last one repeats.
type RetryPolicy struct {
	Strategy string          // exponential, linear, fixed or list
	Base     time.Duration   // 0: 5 s
	Max      time.Duration   // 0: 5 min
	Jitter   *float64        // 0 to 1; nil: 0.2
	Delays   []time.Duration // of "list": 1 to 100
}

type wireRetry struct {
	Strategy string   `json:"strategy"`
	BaseMs   *int64   `json:"base_ms,omitempty"`
	MaxMs    *int64   `json:"max_ms,omitempty"`
	Jitter   *float64 `json:"jitter,omitempty"`
	DelaysMs []int64  `json:"delays_ms,omitempty"`
}

// NoDelay is a Base or Max of no time at all, where 0 stands for the default.
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

// UniqueKey allows one job for each key within a queue, while the job has not ended and for the time
// For after its submission.
type UniqueKey struct {
	Key string // 1 to 255 bytes
	For time.Duration
	// OnConflict says what becomes of another submission: "return" the holder (also if empty),
	// "reject" it with ErrDuplicateJob, or "replace" a holder that waits.
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
			j.MaxAttempts = -1 // the server refuses 0, and shall; here it would be "not set"
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

// ID gives the job an id of yours, as MakeID makes them.
func ID(id string) JobOption { return jobOption(func(j *NewJob) { j.ID = id }) }

// Queue names the queue in which the job waits.
func Queue(name string) JobOption { return jobOption(func(j *NewJob) { j.Queue = name }) }

// Priority moves the job before those of a higher number, and after those of a lower one.
func Priority(priority int) JobOption { return jobOption(func(j *NewJob) { j.Priority = priority }) }

// Delay lets the job wait so long before its first attempt.
func Delay(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Delay = d }) }

// RunAt lets the job wait until an instant.
func RunAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.RunAt = at }) }

// ExpiresIn lets the job expire if it has not started by then.
func ExpiresIn(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.ExpiresIn = d }) }

// ExpiresAt lets the job expire if it has not started by then.
func ExpiresAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.ExpiresAt = at }) }

// MaxAttempts bounds the attempts, 1 to 1000.
func MaxAttempts(n int) JobOption { return jobOption(func(j *NewJob) { j.MaxAttempts = n }) }

// Retry says when failed attempts are tried again.
func Retry(policy RetryPolicy) JobOption { return jobOption(func(j *NewJob) { j.Retry = &policy }) }

// Timeout bounds an attempt.
func Timeout(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Timeout = d }) }

// Unique allows one job with this key.
func Unique(key UniqueKey) JobOption { return jobOption(func(j *NewJob) { j.Unique = &key }) }

// Tags adds tags.
func Tags(tags ...string) JobOption {
	return jobOption(func(j *NewJob) { j.Tags = append(append([]string(nil), j.Tags...), tags...) })
}

// Meta adds a string of your own.
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

// IdempotencyKey lets a submission that is repeated return the first one's job.
func IdempotencyKey(key string) JobOption {
	return jobOption(func(j *NewJob) { j.IdempotencyKey = key })
}

// LeaseOption is what Lease returns: an option of jobs and of workers.
type LeaseOption time.Duration

func (o LeaseOption) applyToJob(j *NewJob)          { j.Lease = time.Duration(o) }
func (o LeaseOption) applyToWorker(w *workerConfig) { w.lease = time.Duration(o) }

// Lease is the length of leases, 1 s to 24 h: of a job, or all that a worker asks for.
func Lease(d time.Duration) LeaseOption { return LeaseOption(d) }
