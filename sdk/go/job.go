package millrace

import (
	"encoding/json"
	"time"
)

// JobState is the state of a job.
type JobState string

// The states of jobs. Succeeded and the states after it are final.
const (
	Scheduled JobState = "scheduled" // waits for its RunAt
	Ready     JobState = "ready"     // waits for a worker
	Running   JobState = "running"   // a worker has a lease on it
	Retrying  JobState = "retrying"  // an attempt failed; waits for its backoff
	Blocked   JobState = "blocked"   // waits for other jobs
	Succeeded JobState = "succeeded"
	Dead      JobState = "dead" // failed for good
	Cancelled JobState = "cancelled"
	Expired   JobState = "expired" // did not start before its ExpiresAt
	// Pruned: retention has removed the job, but its idempotency key is still valid.
	Pruned JobState = "pruned"
)

// IsFinal reports whether a job in this state has ended. Client.Retry can start it again.
func (s JobState) IsFinal() bool {
	switch s {
	case Succeeded, Dead, Cancelled, Expired, Pruned:
		return true
	}
	return false
}

// Job is a job as the server shows it.
type Job struct {
	ID       string   `json:"id"`
	Queue    string   `json:"queue"`
	Type     string   `json:"type"`
	State    JobState `json:"state"`
	Priority int      `json:"priority"` // lower runs first
	// Attempt counts the attempts that have started, except those that ended snoozed or released.
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	Crashes     int       `json:"crashes"`    // expired leases
	Generation  int       `json:"generation"` // rises with every retry by hand
	Version     int64     `json:"version"`    // rises with every change
	CreatedAt   time.Time `json:"-"`
	RunAt       time.Time `json:"-"`
	// ExpiresAt, StartedAt, FinishedAt and LeaseExpiresAt are zero if there is no such instant.
	ExpiresAt       time.Time         `json:"-"`
	StartedAt       time.Time         `json:"-"`
	FinishedAt      time.Time         `json:"-"`
	LeaseExpiresAt  time.Time         `json:"-"`
	Worker          string            `json:"-"` // empty unless running
	CancelRequested bool              `json:"cancel_requested"`
	Progress        *Progress         `json:"progress"`
	LastError       *JobError         `json:"last_error"`
	Retry           *RetryPolicy      `json:"retry"` // nil: the queue's
	Lease           time.Duration     `json:"-"`     // 0: the queue's
	Timeout         time.Duration     `json:"-"`     // of an attempt; 0: none
	Unique          *UniqueKey        `json:"unique"`
	Tags            []string          `json:"tags"`
	Meta            map[string]string `json:"meta"`
	Traceparent     string            `json:"traceparent,omitempty"`
	// Schedule names the schedule that created the job; nil if none did.
	Schedule *ScheduleOfJob `json:"schedule,omitempty"`
	// Payload, Result, Attempts, Logs and Events are set if the call asked to include them.
	Payload  json.RawMessage `json:"payload,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Attempts []Attempt       `json:"attempts,omitempty"`
	Logs     []LogLine       `json:"logs,omitempty"`
	Events   []Event         `json:"events,omitempty"`
}

type plainJob Job

// wireJob holds the members of a Job whose JSON form differs from the Go form.
type wireJob struct {
	*plainJob
	CreatedAt      wireTime `json:"created_at"`
	RunAt          wireTime `json:"run_at"`
	ExpiresAt      wireTime `json:"expires_at"`
	StartedAt      wireTime `json:"started_at"`
	FinishedAt     wireTime `json:"finished_at"`
	LeaseExpiresAt wireTime `json:"lease_expires_at"`
	Worker         wireText `json:"worker"`
	LeaseMs        wireMs   `json:"lease_ms"`
	TimeoutMs      wireMs   `json:"timeout_ms"`
}

// UnmarshalJSON reads the API's form.
func (j *Job) UnmarshalJSON(data []byte) error {
	wire := wireJob{plainJob: (*plainJob)(j)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	j.CreatedAt, j.RunAt = time.Time(wire.CreatedAt), time.Time(wire.RunAt)
	j.ExpiresAt, j.StartedAt = time.Time(wire.ExpiresAt), time.Time(wire.StartedAt)
	j.FinishedAt, j.LeaseExpiresAt = time.Time(wire.FinishedAt), time.Time(wire.LeaseExpiresAt)
	j.Worker = string(wire.Worker)
	j.Lease, j.Timeout = time.Duration(wire.LeaseMs), time.Duration(wire.TimeoutMs)
	return nil
}

// MarshalJSON writes the API's form.
func (j Job) MarshalJSON() ([]byte, error) {
	if j.State == Pruned {
		return json.Marshal(struct {
			ID    string   `json:"id"`
			State JobState `json:"state"`
		}{j.ID, j.State})
	}
	if j.Tags == nil {
		j.Tags = []string{}
	}
	if j.Meta == nil {
		j.Meta = map[string]string{}
	}
	return json.Marshal(wireJob{
		(*plainJob)(&j), wireTime(j.CreatedAt), wireTime(j.RunAt), wireTime(j.ExpiresAt),
		wireTime(j.StartedAt), wireTime(j.FinishedAt), wireTime(j.LeaseExpiresAt),
		wireText(j.Worker), wireMs(j.Lease), wireMs(j.Timeout),
	})
}

// Progress is the progress that a running job last reported.
type Progress struct {
	Percent    *float64        `json:"percent"` // 0 to 100; nil: not told
	Message    *string         `json:"message"`
	Checkpoint json.RawMessage `json:"checkpoint"` // what the next attempt will find
}

// JobError describes why an attempt failed.
type JobError struct {
	// Type is the class of the error, or one of the types that the server sets itself: lease_expired,
	// timeout, worker_lost.
	Type        string
	Message     string
	Stack       string // empty if there is none
	Fingerprint string // the same for errors that look alike; may be empty
	Attempt     int
	At          time.Time
}

type wireJobError struct {
	Type        string   `json:"type"`
	Message     string   `json:"message"`
	Stack       wireText `json:"stack"`
	Fingerprint wireText `json:"fingerprint"`
	Attempt     int      `json:"attempt"`
	At          wireTime `json:"at"`
}

// UnmarshalJSON reads the API's form.
func (e *JobError) UnmarshalJSON(data []byte) error {
	var w wireJobError
	err := json.Unmarshal(data, &w)
	*e = JobError{w.Type, w.Message, string(w.Stack), string(w.Fingerprint), w.Attempt, time.Time(w.At)}
	return err
}

// MarshalJSON writes the API's form.
func (e JobError) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireJobError{
		e.Type, e.Message, wireText(e.Stack), wireText(e.Fingerprint), e.Attempt, wireTime(e.At),
	})
}

// Attempt is one attempt at a job.
type Attempt struct {
	N          int       // counts every start, from 1
	Attempt    int       // the number of the attempt, from 1
	Worker     string    // empty if it is not known
	StartedAt  time.Time //
	FinishedAt time.Time // zero while it runs
	// Outcome is running, succeeded, failed, snoozed, released, cancelled, dead, lease_expired or
	// timed_out.
	Outcome string
	Error   *JobError // nil if there is none
}

type wireAttempt struct {
	N          int       `json:"n"`
	Attempt    int       `json:"attempt"`
	Worker     wireText  `json:"worker"`
	StartedAt  wireTime  `json:"started_at"`
	FinishedAt wireTime  `json:"finished_at"`
	Outcome    string    `json:"outcome"`
	Error      *JobError `json:"error"`
}

// UnmarshalJSON reads the API's form.
func (a *Attempt) UnmarshalJSON(data []byte) error {
	var w wireAttempt
	err := json.Unmarshal(data, &w)
	*a = Attempt{
		w.N, w.Attempt, string(w.Worker), time.Time(w.StartedAt), time.Time(w.FinishedAt), w.Outcome, w.Error,
	}
	return err
}

// MarshalJSON writes the API's form.
func (a Attempt) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireAttempt{
		a.N, a.Attempt, wireText(a.Worker), wireTime(a.StartedAt), wireTime(a.FinishedAt), a.Outcome, a.Error,
	})
}

// LogLine is one line of a job's log.
type LogLine struct {
	Seq     int64     `json:"seq"` // rises along the job's lines
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // debug, info, warn or error
	Message string    `json:"message"`
}

// MarshalJSON writes the API's form.
func (l LogLine) MarshalJSON() ([]byte, error) {
	m := openObject(nil)
	m.number("seq", l.Seq)
	m.number("attempt", int64(l.Attempt))
	m.key("at")
	m.b = appendTime(m.b, l.At)
	m.text("level", l.Level)
	m.text("message", l.Message)
	return m.close(), nil
}

// Event is an entry of a job's history.
type Event struct {
	ID      string          `json:"id"` // a position, opaque
	At      time.Time       `json:"at"`
	Type    string          `json:"type"` // job.submitted and so on
	Queue   *string         `json:"queue"`
	JobID   *string         `json:"job_id"`
	JobType *string         `json:"job_type"`
	Attempt *int            `json:"attempt"`
	Worker  *string         `json:"worker"`
	Data    json.RawMessage `json:"data"`
}

type plainEvent Event

// MarshalJSON writes the API's form.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainEvent
		At wireTime `json:"at"`
	}{plainEvent(e), wireTime(e.At)})
}

// ScheduleOfJob says which schedule made a job, and for which instant.
type ScheduleOfJob struct {
	Name        string    `json:"name"`
	ScheduledAt time.Time `json:"scheduled_at"`
}

// MarshalJSON writes the API's form.
func (s ScheduleOfJob) MarshalJSON() ([]byte, error) {
	m := openObject(nil)
	m.text("name", s.Name)
	m.key("scheduled_at")
	m.b = appendTime(m.b, s.ScheduledAt)
	return m.close(), nil
}
