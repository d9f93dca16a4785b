package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// JobType is a type of job: its name, the Go types of its payload and its result, and the defaults for
// its jobs. Define creates one.
type JobType[P, R any] struct {
	name     string
	defaults []JobOption
}

// Define returns a type of job with payloads P and results R; R is any if nobody reads the result. The
// name is the contract between producers and workers. The options apply to each job of the type that
// does not set its own.
func Define[P, R any](name string, defaults ...JobOption) JobType[P, R] {
	return JobType[P, R]{name: name, defaults: defaults}
}

// Name returns the name of the type.
func (t JobType[P, R]) Name() string { return t.name }

// Job returns a job to be submitted, for SubmitBatch and JobContext.Enqueue.
func (t JobType[P, R]) Job(payload P, options ...JobOption) NewJob {
	job := NewJob{Type: t.name, Payload: payload}
	for _, option := range t.defaults {
		option.applyToJob(&job)
	}
	for _, option := range options {
		option.applyToJob(&job)
	}
	return job
}

// Submit submits one job; see Client.Submit.
func (t JobType[P, R]) Submit(
	ctx context.Context, to Submitter, payload P, options ...JobOption,
) (*Submitted, error) {
	return to.Submit(ctx, t.Job(payload, options...))
}

// TxSubmitter submits jobs in transactions. It is implemented by *Client and by the fake of package
// millracetest.
type TxSubmitter interface {
	SubmitTx(ctx context.Context, tx Tx, job NewJob) (string, error)
}

// SubmitTx submits one job in a transaction, and returns its id; see Client.SubmitTx.
func (t JobType[P, R]) SubmitTx(
	ctx context.Context, to TxSubmitter, tx Tx, payload P, options ...JobOption,
) (string, error) {
	return to.SubmitTx(ctx, tx, t.Job(payload, options...))
}

// Waiter waits for jobs. It is implemented by *Client and by the fake of package millracetest.
type Waiter interface {
	Wait(ctx context.Context, id string, timeout time.Duration) (*Job, error)
}

// Ended is a job that has ended, with its result as a value. If the job did not succeed, Result is the
// zero value.
type Ended[R any] struct {
	Job
	Result R
}

// Wait waits until a job of this type has ended in any way; see Client.Wait.
func (t JobType[P, R]) Wait(
	ctx context.Context, at Waiter, id string, timeout time.Duration,
) (*Ended[R], error) {
	job, err := at.Wait(ctx, id, timeout)
	if err != nil {
		return nil, err
	}
	ended := &Ended[R]{Job: *job}
	if job.State == Succeeded && len(job.Result) > 0 {
		if err := json.Unmarshal(job.Result, &ended.Result); err != nil {
			return nil, fmt.Errorf("millrace: the result of job %s is no %T: %w", id, ended.Result, err)
		}
	}
	return ended, nil
}

// Handler runs one attempt at a job. JobFrom(ctx) returns the job. The handler's return values are the
// outcome:
//
//   - a value and no error: the job has succeeded, with the value as its result;
//   - an error: the attempt has failed, and the job is retried while attempts are left;
//   - NonRetryable, RetryAfter, Snooze or Cancel, perhaps wrapped: as documented there.
//
// The context ends when the handler should end, and context.Cause(ctx) says why: ErrCancelled,
// ErrTimedOut, ErrLeaseLost or ErrStopping. If the handler then returns the context's error, the job is
// cancelled, or released to another worker.
type Handler func(ctx context.Context) (any, error)

// Middleware wraps a handler: it calls next, and may change or replace the result.
type Middleware func(next Handler) Handler

// Registry accepts handlers. It is implemented by *Worker and by the fake of package millracetest.
type Registry interface {
	// Register attaches a handler to a type of job.
	Register(jobType string, handler Handler)
}

// Handle attaches a typed handler to a type of job. If the payload can't be decoded, the attempt
// fails.
func Handle[P, R any](to Registry, t JobType[P, R], handler func(ctx context.Context, payload P) (R, error)) {
	to.Register(t.name, func(ctx context.Context) (any, error) {
		var payload P
		if err := json.Unmarshal(JobFrom(ctx).Payload, &payload); err != nil {
			return nil, fmt.Errorf("the payload is no %T: %w", payload, err)
		}
		return handler(ctx, payload)
	})
}
