package millracetest

import (
	"context"
	"encoding/json"
	"math"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// Drain runs every job that is due and has a handler, by priority and then age, until none is left,
// including jobs that the handlers submit. It returns the number of attempts. Handlers run one after
// another, in the calling goroutine.
func (f *Fake) Drain(ctx context.Context) int {
	ran := 0
	for ctx.Err() == nil {
		e := f.next()
		if e == nil {
			break
		}
		if f.attempt(ctx, e) {
			ran++
		}
	}
	return ran
}

// next returns the job that a worker would get next.
func (f *Fake) next() *entry {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.look()
	var first *entry
	for _, e := range f.jobs {
		if e.job.State == millrace.Ready && f.handlers[e.job.Type] != nil && (first == nil || before(e, first)) {
			first = e
		}
	}
	return first
}

func before(a, b *entry) bool {
	if a.job.Priority != b.job.Priority {
		return a.job.Priority < b.job.Priority
	}
	if !a.job.RunAt.Equal(b.job.RunAt) {
		return a.job.RunAt.Before(b.job.RunAt)
	}
	return a.serial < b.serial
}

// runWhileDue runs one job until it waits or has ended.
func (f *Fake) runWhileDue(ctx context.Context, e *entry) {
	for f.attempt(ctx, e) {
		f.mutex.Lock()
		f.look()
		f.mutex.Unlock()
	}
}

// attempt runs a job once, if it is ready and has a handler.
func (f *Fake) attempt(ctx context.Context, e *entry) bool {
	f.mutex.Lock()
	handler := f.handlers[e.job.Type]
	if e.job.State != millrace.Ready || handler == nil {
		f.mutex.Unlock()
		return false
	}
	for i := len(f.wrappers) - 1; i >= 0; i-- {
		handler = f.wrappers[i](handler)
	}
	f.token++
	e.job.Attempt++
	e.job.StartedAt, e.job.Worker = f.now, "fake"
	f.change(e, millrace.Running)
	e.job.Attempts = append(e.job.Attempts, millrace.Attempt{
		N: len(e.job.Attempts) + 1, Attempt: e.job.Attempt, Worker: "fake", StartedAt: f.now, Outcome: "running",
	})
	ctx, e.endWith = context.WithCancelCause(ctx)
	defer e.endWith(nil)
	claimed := millrace.ClaimedJob{
		ID: e.job.ID, Queue: e.job.Queue, Type: e.job.Type, Payload: e.job.Payload, Attempt: e.job.Attempt,
		MaxAttempts: e.job.MaxAttempts, Priority: e.job.Priority, CreatedAt: e.job.CreatedAt,
		Tags: e.job.Tags, Meta: e.job.Meta, Traceparent: e.spec.Traceparent, Tracestate: e.spec.Tracestate,
		Progress: e.job.Progress,
		Lease:    millrace.ClaimedLease{Token: f.token, ExpiresAt: f.now.Add(30 * time.Second), LengthMs: 30_000},
	}
	claimOf(e, &claimed)
	f.mutex.Unlock()

	outcome := millrace.RunHandler(ctx, claimed, handler)
	added := f.end(ctx, e, outcome)
	if f.mode == Inline {
		for _, follower := range added {
			f.runWhileDue(ctx, follower)
		}
	}
	return true
}

// end applies the outcome of an attempt and returns the jobs submitted with it or released by it.
func (f *Fake) end(ctx context.Context, e *entry, outcome millrace.Outcome) []*entry {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.grow(ctx, e, outcome.Grow); err != nil {
		const text = "the outcome is refused: "
		outcome.Kind, outcome.Enqueue = "failed", nil
		outcome.Error = &millrace.AttemptError{Type: "outcome_refused", Message: text + err.Error(), Retryable: true}
	}
	added := f.apply(ctx, e, outcome)
	return append(added, f.takeReleased()...)
}

// apply does what end does, after the workflow has grown. The caller holds the mutex.
func (f *Fake) apply(ctx context.Context, e *entry, outcome millrace.Outcome) []*entry {
	job := &e.job
	job.Worker = ""
	if outcome.Progress != nil {
		job.Progress = outcome.Progress
	}
	for _, line := range outcome.Log {
		f.log(e, line.Level, line.Message)
	}
	for _, text := range outcome.LastLines {
		f.log(e, "info", text)
	}
	last := &job.Attempts[len(job.Attempts)-1]
	last.FinishedAt, last.Outcome = f.now, outcome.Kind
	switch outcome.Kind {
	case "succeeded":
		if outcome.Result != nil {
			job.Result = json.RawMessage(outcome.Result)
		}
		f.finish(e, millrace.Succeeded)
		return f.follow(ctx, outcome.Enqueue)
	case "cancelled":
		f.finish(e, millrace.Cancelled)
	case "snoozed":
		f.wait(e, millrace.Scheduled, outcome.Delay)
		job.Attempt--
	case "failed":
		f.fail(e, outcome)
		last.Error = job.LastError
	default:
		f.change(e, millrace.Ready)
		job.Attempt--
	}
	return nil
}

func (f *Fake) log(e *entry, level, message string) {
	e.job.Logs = append(e.job.Logs, millrace.LogLine{
		Seq: int64(len(e.job.Logs) + 1), Attempt: e.job.Attempt, At: f.now, Level: level, Message: message,
	})
}

func (f *Fake) follow(ctx context.Context, jobs []millrace.NewJob) []*entry {
	var added []*entry
	for _, job := range jobs {
		if e, isNew, err := f.submit(ctx, job); err == nil && isNew {
			added = append(added, e)
		}
	}
	return added
}

func (f *Fake) fail(e *entry, outcome millrace.Outcome) {
	failure := outcome.Error
	e.job.LastError = &millrace.JobError{
		Type: failure.Type, Message: failure.Message, Stack: failure.Stack, Attempt: e.job.Attempt, At: f.now,
	}
	switch {
	case e.job.CancelRequested:
		f.finish(e, millrace.Cancelled)
	case !failure.Retryable || e.job.Attempt >= e.job.MaxAttempts:
		f.finish(e, millrace.Dead)
	case outcome.HasDelay:
		f.wait(e, millrace.Retrying, outcome.Delay)
	default:
		f.wait(e, millrace.Retrying, backoff(e.job.Retry, e.job.Attempt))
	}
}

func (f *Fake) wait(e *entry, state millrace.JobState, d time.Duration) {
	e.job.RunAt = f.now.Add(d)
	f.change(e, state)
	f.look()
}

// backoff computes the server's backoff, without jitter.
func backoff(policy *millrace.RetryPolicy, attempt int) time.Duration {
	base, most := max(policy.Base, 0), max(policy.Max, 0) // NoDelay is negative
	switch policy.Strategy {
	case "list":
		return policy.Delays[min(attempt, len(policy.Delays))-1]
	case "fixed":
		return min(base, most)
	case "linear":
		return time.Duration(math.Min(float64(base)*float64(attempt), float64(most)))
	}
	return time.Duration(math.Min(float64(base)*math.Exp2(float64(attempt-1)), float64(most)))
}
