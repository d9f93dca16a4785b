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

// Checkpoint returns the value that an earlier attempt saved with SaveCheckpoint, as JSON; nil if
// there is none.
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

// JobContext is a job as its handler sees it. JobFrom returns it. Its methods are safe for concurrent
// use by multiple goroutines. After the handler has returned, calls are no-ops.
type JobContext struct {
	ClaimedJob

	ctx      context.Context
	end      context.CancelCauseFunc
	stopping <-chan struct{}
	// hasNews is called, with the mutex held, when a first line or progress waits to be sent.
	hasNews func()

	mutex        sync.Mutex
	ended        bool
	lines        []line
	lineBytes    int
	progress     Progress
	progressWait bool // the progress is to be sent
	told         bool // hasNews was called, and nothing has been taken since
	enqueued     []NewJob
	grown        Growth
	slowed       []SlowDown
}

type line struct {
	at      time.Time
	level   string
	message string
}

type jobContextKey struct{}

// JobFrom returns the job to whose handler this context belongs; nil outside of handlers.
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

// Token returns the fencing token of this attempt's lease.
func (c *JobContext) Token() int64 { return c.Lease.Token }

// StopReason returns why the handler should end: ErrCancelled, ErrTimedOut, ErrLeaseLost or ErrStopping; nil
// if it may go on.
func (c *JobContext) StopReason() error {
	switch cause := context.Cause(c.ctx); cause {
	case ErrCancelled, ErrTimedOut, ErrLeaseLost, ErrStopping:
		return cause
	}
	return nil
}

// Stopping returns a channel that is closed when the worker begins to stop. The handler may go on until
// its context ends, or save a checkpoint and return. The channel is nil outside of a worker.
func (c *JobContext) Stopping() <-chan struct{} { return c.stopping }

// Progress reports the job's progress to the server within a second. The percentage is clamped to 0 to
// 100; a negative one leaves it unchanged. The message has at most 1,024 bytes; an empty one leaves it
// unchanged.
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

// SaveCheckpoint saves a value for the next attempt, if there is one. Its JSON has at most 60 KiB. The
// server receives it within a second.
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

// Log adds a line to the job's log. The server receives it within a second, or with the outcome. The
// arguments are those of slog. A line has at most 8 KiB. If more than 256 KiB wait to be sent, the
// oldest lines are dropped.
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

// Enqueue submits a job in the same commit as this job's success: the server stores both or neither.
// If the handler does not succeed, nothing is submitted.
func (c *JobContext) Enqueue(job NewJob) error {
	if job.ID == "" {
		job.ID = MakeID(job.Queue)
	}
	if err := c.prepare(&job); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.enqueued = append(c.enqueued, job)
	return nil
}

// prepare makes a job that goes with the outcome independent of what the handler does with its payload.
func (c *JobContext) prepare(job *NewJob) error {
	if job.Traceparent == "" {
		job.Traceparent, job.Tracestate = c.Traceparent, c.Tracestate
	}
	payload, err := marshal(job.Payload)
	if err != nil {
		return notJSON(err, "/payload")
	}
	job.Payload = json.RawMessage(payload)
	if _, err := job.append(nil); err != nil {
		return notJSON(err, "")
	}
	return nil
}

// Growth is what a handler adds to the workflow of its job, and skips in it.
type Growth struct {
	Members []NewMember
	Skip    []string // refs
}

var errNoMember = errors.New("millrace: the job is no member of a workflow, so it can't change one")

// Add adds a member to the job's workflow in the same commit as this job's success; if the handler does
// not succeed, nothing is added. The ref must be given: one that is there is left alone. The member may
// need any other, this job's included. Add is refused in a job that is no member of a workflow.
func (c *JobContext) Add(ref string, job NewJob, options ...MemberOption) error {
	if c.Workflow == nil || c.Workflow.Role != "member" {
		return errNoMember
	}
	if ref == "" {
		return invalid(nil, Fault{Where: "/ref", Detail: "a member that a handler adds needs a ref"})
	}
	if err := c.prepare(&job); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.grown.Members = append(c.grown.Members, newMember(ref, job, options))
	return nil
}

// Skip skips a blocked member that needs this job's, in the same commit as this job's success.
func (c *JobContext) Skip(ref string) error {
	if c.Workflow == nil || c.Workflow.Role != "member" {
		return errNoMember
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.grown.Skip = append(c.grown.Skip, ref)
	return nil
}

func (c *JobContext) takeGrown() Growth {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.grown
}

// SlowDown is a handler's request to a limit that its job names: to let nothing pass for a time.
type SlowDown struct {
	Limit string
	// Key is the job's key of the limit. If empty, the whole limit is slowed down.
	Key string
	For time.Duration
}

// SlowDown tells the server that an upstream asks for fewer requests. It is sent with the outcome,
// of any kind; with Snooze the job is tried again later without costing an attempt. The time is 100 ms
// to an hour. The last wish for a limit counts.
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

// news tells the worker, once until the worker takes something. The caller holds the mutex.
func (c *JobContext) news() {
	if c.hasNews != nil && !c.told && !c.ended {
		c.told = true
		c.hasNews()
	}
}

// takeLines removes and returns at most that many lines, oldest first.
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

// lastLines closes the job's log and returns the lines that wait.
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

// giveBackProgress lets the next heartbeat carry progress that did not arrive, or newer progress.
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
