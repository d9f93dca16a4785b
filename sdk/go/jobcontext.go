package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ClaimedJob is a job as its worker gets it.
type ClaimedJob struct {
	ID          string            `json:"id"`
	Queue       string            `json:"queue"`
	Type        string            `json:"type"`
	Payload     json.RawMessage   `json:"payload"`
	Attempt     int               `json:"attempt"` // the number of this attempt, from 1
	MaxAttempts int               `json:"max_attempts"`
	Priority    int               `json:"priority"`
	CreatedAt   time.Time         `json:"created_at"`
	RunAt       time.Time         `json:"run_at"`
	Tags        []string          `json:"tags"`
	Meta        map[string]string `json:"meta"`
	// Traceparent and Tracestate are the W3C trace context of the submission; empty if it had none.
	Traceparent string `json:"traceparent"`
	Tracestate  string `json:"tracestate"`
	// Schedule is what made the job; nil if no schedule did.
	Schedule *ScheduleOfJob `json:"schedule"`
	// Progress is what an earlier attempt said last, with its checkpoint; nil if it said nothing.
	Progress *Progress `json:"progress"`
	// Lease is the lease as it was when the job was claimed.
	Lease ClaimedLease `json:"lease"`
	// Deadline is the instant at which the attempt times out, by the server's clock; zero if its time is
	// not bound. The handler's context ends by a clock of the worker's that nobody sets.
	Deadline time.Time `json:"deadline"`
	// TimeoutMs is the bound on the attempt; 0 if there is none, or if the server did not say.
	TimeoutMs int64 `json:"timeout_ms"`
}

// ClaimedLease is a worker's hold on a job.
type ClaimedLease struct {
	// Token is the fencing token: it rises with each lease of the job. Pass it to services that can
	// compare numbers, so that they refuse a late attempt.
	Token     int64     `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
	LengthMs  int64     `json:"lease_ms"`
}

// Checkpoint is what an earlier attempt saved with SaveCheckpoint, as JSON; nil if there is nothing.
func (j *ClaimedJob) Checkpoint() json.RawMessage {
	if j.Progress == nil || string(j.Progress.Checkpoint) == "null" {
		return nil
	}
	return j.Progress.Checkpoint
}

const (
	maxProgressMessage = 1024
	maxCheckpoint      = 60 << 10 // the whole progress may have 64 KiB
	maxLineBytes       = 8 << 10
	maxPendingBytes    = 256 << 10 // of log lines that wait
	maxLines           = 1000      // of an outcome or a poll
)

// JobContext is a job as its handler sees it. Get it with JobFrom. Its methods may be called by many
// goroutines, until the handler has returned; later calls do nothing.
type JobContext struct {
	ClaimedJob

	ctx      context.Context
	end      context.CancelCauseFunc
	stopping <-chan struct{}
	// hasNews is called, with the mutex held, when a line or progress begins to wait.
	hasNews func()

	mutex        sync.Mutex
	ended        bool
	lines        []line
	lineBytes    int
	progress     Progress
	progressWait bool // the progress is to be sent
	told         bool // hasNews was called, and nothing was taken since
	enqueued     []NewJob
	slowed       []SlowDown
}

type line struct {
	at      time.Time
	level   string
	message string
}

type jobContextKey struct{}

// JobFrom returns the job whose handler got this context; nil if none did.
func JobFrom(ctx context.Context) *JobContext {
	job, _ := ctx.Value(jobContextKey{}).(*JobContext)
	return job
}

func newJobContext(parent context.Context, job ClaimedJob, stopping <-chan struct{}) *JobContext {
	c := &JobContext{ClaimedJob: job, stopping: stopping}
	if job.Progress != nil {
		c.progress = *job.Progress
	}
	c.ctx, c.end = context.WithCancelCause(context.WithValue(parent, jobContextKey{}, c))
	return c
}

// Token is the fencing token of this attempt's lease.
func (c *JobContext) Token() int64 { return c.Lease.Token }

// Told returns why the handler should end: ErrCancelled, ErrTimedOut, ErrLeaseLost or ErrStopping; nil
// as long as it should not.
func (c *JobContext) Told() error {
	switch cause := context.Cause(c.ctx); cause {
	case ErrCancelled, ErrTimedOut, ErrLeaseLost, ErrStopping:
		return cause
	}
	return nil
}

// Stopping is closed when the worker begins to stop. The handler may go on until its context ends, or
// save a checkpoint and return. It is nil outside of a worker.
func (c *JobContext) Stopping() <-chan struct{} { return c.stopping }

// Progress tells the server how far the job is, within a second. The percentage is cut to 0 to 100; a
// negative one is left as it was. The message has at most 1,024 bytes; an empty one is left as it was.
func (c *JobContext) Progress(percent float64, message string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		return
	}
	if percent >= 0 {
		percent = min(percent, 100)
		c.progress.Percent = &percent
	}
	if message != "" {
		message = cut(message, maxProgressMessage)
		c.progress.Message = &message
	}
	c.progressWait = true
	c.news()
}

// SaveCheckpoint keeps a value for the next attempt, should there be one, in JSON of at most 60 KiB.
// The server has it within a second.
func (c *JobContext) SaveCheckpoint(value any) error {
	raw, err := marshal(value)
	if err != nil {
		return fmt.Errorf("millrace: checkpoint: %w", err)
	}
	if len(raw) > maxCheckpoint {
		return fmt.Errorf("millrace: checkpoint: %d bytes are more than %d", len(raw), maxCheckpoint)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		return errors.New("millrace: checkpoint: the handler has returned")
	}
	c.progress.Checkpoint = append([]byte(nil), raw...)
	c.progressWait = true
	c.news()
	return nil
}

// Log adds a line to the job's log, which the server has within a second, or with the outcome. The
// arguments are as those of slog. A line has at most 8 KiB; over 256 KiB wait, the oldest go.
func (c *JobContext) Log(level slog.Level, message string, args ...any) {
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.Add(args...)
	c.addRecord(record, "", nil)
}

func (c *JobContext) addLine(at time.Time, level slog.Level, message string) {
	message = cut(message, maxLineBytes)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		return
	}
	c.lines = append(c.lines, line{at, levelName(level), message})
	c.lineBytes += len(message)
	for c.lineBytes > maxPendingBytes || len(c.lines) > maxLines {
		c.lineBytes -= len(c.lines[0].message)
		c.lines = c.lines[1:]
	}
	c.news()
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	}
	return "error"
}

// Enqueue submits a job in the commit of this one's success: the server stores both or neither. If
// the handler does not succeed, nothing is submitted.
func (c *JobContext) Enqueue(job NewJob) error {
	if job.ID == "" {
		job.ID = MakeID(job.Queue)
	}
	if job.Traceparent == "" {
		job.Traceparent, job.Tracestate = c.Traceparent, c.Tracestate
	}
	payload, err := marshal(job.Payload)
	if err != nil {
		return notJSON(err, "/payload")
	}
	job.Payload = json.RawMessage(payload)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.enqueued = append(c.enqueued, job)
	return nil
}

// SlowDown is what a handler asks of a limit that its job names: nothing more passes its gate for so
// long.
type SlowDown struct {
	Limit string
	// Key is the job's key of the limit; empty: the whole limit is slowed down.
	Key string
	For time.Duration
}

// SlowDown says that an upstream wants less. It goes with the outcome, whatever that is; Snooze tries
// the job again then, at no cost of attempts. The time is 100 ms to an hour. Of the wishes for one limit
// the last counts.
func (c *JobContext) SlowDown(wish SlowDown) error {
	if wish.For < 100*time.Millisecond || wish.For > time.Hour {
		return errors.New("millrace: a limit is slowed down for 100 ms to an hour")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range c.slowed {
		if c.slowed[i].Limit == wish.Limit {
			c.slowed[i] = wish
			return nil
		}
	}
	c.slowed = append(c.slowed, wish)
	return nil
}

func (c *JobContext) takeSlowed() []SlowDown {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.slowed
}

func (c *JobContext) takeEnqueued() []NewJob {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.enqueued
}

// news tells the worker once until it takes something. With the mutex held.
func (c *JobContext) news() {
	if c.hasNews != nil && !c.told && !c.ended {
		c.told = true
		c.hasNews()
	}
}

// takeLines returns at most so many lines, oldest first.
func (c *JobContext) takeLines(most int) []line {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	taken := c.lines[:min(most, len(c.lines))]
	c.lines = c.lines[len(taken):]
	for _, l := range taken {
		c.lineBytes -= len(l.message)
	}
	c.told = len(c.lines) > 0 && c.told
	return taken
}

// lastLines ends the job's log and returns what waits.
func (c *JobContext) lastLines() []line {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.ended = true
	taken := c.lines
	c.lines = nil
	return taken
}

// takeProgress returns the progress if it is to be sent.
func (c *JobContext) takeProgress() *Progress {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.progressWait {
		return nil
	}
	c.progressWait = false
	if len(c.lines) == 0 {
		c.told = false
	}
	taken := c.progress
	return &taken
}

func (c *JobContext) hasProgress() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.progressWait
}

func (c *JobContext) dropProgress() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.progressWait = false
}

// giveBackProgress: it did not arrive, so the next heartbeat carries it, or what is newer.
func (c *JobContext) giveBackProgress() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.progressWait = true
}

// giveBackLines puts lines that did not arrive in front of the others.
func (c *JobContext) giveBackLines(lines []line) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.lines = append(append([]line(nil), lines...), c.lines...)
	for _, l := range lines {
		c.lineBytes += len(l.message)
	}
}
