package millrace

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"
)

// The causes of the end of a handler's context, beside ErrLeaseLost.
var (
	// ErrCancelled: the job was cancelled.
	ErrCancelled = errors.New("millrace: the job is cancelled")
	// ErrTimedOut: the attempt has timed out.
	ErrTimedOut = errors.New("millrace: the attempt's time is over")
	// ErrStopping: the worker is stopping, and its grace time is over.
	ErrStopping = errors.New("millrace: the worker stops")
)

// outcomeError is an error that a handler returns to choose the outcome.
type outcomeError struct {
	kind  outcomeKind
	delay time.Duration
	text  string
	cause error
}

type outcomeKind int

const (
	nonRetryable outcomeKind = iota
	retryLater
	snooze
	cancel
)

func (e *outcomeError) Error() string { return e.text }
func (e *outcomeError) Unwrap() error { return e.cause }

// NonRetryable returns an error by which a handler says that no further attempt would help. The job is
// dead at once.
func NonRetryable(err error) error {
	return &outcomeError{kind: nonRetryable, text: textOf(err), cause: err}
}

// RetryAfter returns an error that fails the attempt and sets the time until the next one, at most 10
// years.
func RetryAfter(delay time.Duration, err error) error {
	return &outcomeError{kind: retryLater, delay: delay, text: textOf(err), cause: err}
}

// Snooze returns an error by which a handler postpones its job, by at most 10 years, without costing
// an attempt.
func Snooze(delay time.Duration) error {
	return &outcomeError{kind: snooze, delay: delay, text: "snoozed for " + delay.String()}
}

// Cancel returns an error by which a handler cancels its own job. The reason becomes a line in the
// job's log.
func Cancel(reason string) error {
	return &outcomeError{kind: cancel, text: reason}
}

const indescribable = "an error that can't be described"

// textOf returns the text of an application's error, whose method Error may panic.
func textOf(err error) (text string) {
	if err == nil {
		return "no error was given"
	}
	defer func() {
		if recover() != nil {
			text = indescribable
		}
	}()
	return err.Error()
}

// panicError is the error of a handler that panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) }
func (e *panicError) Unwrap() error { err, _ := e.value.(error); return err }

// Outcome is the outcome of an attempt as reported to the server. Workers create it; RunHandler returns
// it to fakes and tests.
type Outcome struct {
	// Kind is succeeded, failed, snoozed, released or cancelled. It is empty if the lease was lost and
	// nothing is reported.
	Kind      string
	Result    []byte        // JSON; nil: null
	Error     *AttemptError // of "failed"
	Delay     time.Duration // of "snoozed", and of "failed" if HasDelay
	HasDelay  bool
	Enqueue   []NewJob // submitted in the commit of the outcome
	Grow      Growth   // made in that commit
	LastLines []string // of the log, such as the reason of a Cancel
	SlowDown  []SlowDown
	// Progress and Log are the attempt's progress and log. A worker sends these to the server
	// separately; only RunHandler sets them.
	Progress *Progress
	Log      []LogLine
}

// AttemptError describes why an attempt failed.
type AttemptError struct {
	Type      string // the class of the error, at most 128 bytes
	Message   string // at most 4 KiB
	Stack     string // at most 32 KiB; empty if there is none
	Retryable bool   // false: the job is dead
}

const (
	maxTypeBytes    = 128
	maxMessageBytes = 4 << 10
	maxStackBytes   = 32 << 10
)

// RunHandler runs a handler once, in the calling goroutine, and returns the outcome that a worker would
// report. It is for tests and fakes and uses no server. The handler's context ends with ctx, with the
// same cause, such as ErrCancelled.
func RunHandler(ctx context.Context, job ClaimedJob, handler Handler) Outcome {
	c := newJobContext(ctx, job, nil)
	defer c.end(nil)
	outcome := c.run(handler)
	outcome.Progress = c.takeProgress()
	for _, l := range c.lastLines() {
		outcome.Log = append(outcome.Log, LogLine{Attempt: job.Attempt, At: l.at, Level: l.level, Message: l.message})
	}
	return outcome
}

// run calls the handler and turns its results into an outcome, whatever they are: the methods of an
// application's errors and results may panic.
func (c *JobContext) run(handler Handler) (outcome Outcome) {
	defer func() {
		if value := recover(); value != nil {
			outcome = failedWith(AttemptError{
				Type: "panic", Message: indescribable, Stack: cut(string(debug.Stack()), maxStackBytes), Retryable: true,
			})
		}
	}()
	outcome = c.outcomeOf(handler)
	if outcome.Kind != "" {
		outcome.SlowDown = c.takeSlowed()
	}
	return outcome
}

func (c *JobContext) outcomeOf(handler Handler) Outcome {
	result, err := protect(c.ctx, handler)
	switch told := c.StopReason(); {
	case told == ErrLeaseLost:
		return Outcome{}
	case told == ErrTimedOut:
		return failedWith(AttemptError{Type: "timeout", Message: "the attempt's time is over", Retryable: true})
	case told == ErrCancelled && endsByContext(err, told):
		return Outcome{Kind: "cancelled"}
	case told == ErrStopping && endsByContext(err, told):
		return Outcome{Kind: "released"}
	}
	if err != nil {
		return outcomeOf(err)
	}
	outcome := Outcome{Kind: "succeeded", Enqueue: c.takeEnqueued(), Grow: c.takeGrown()}
	if result != nil {
		if outcome.Result, err = marshalResult(result); err != nil {
			return refusedOutcome("the result can't be sent: " + textOf(err))
		}
	}
	return outcome
}

// marshalResult turns a panic, as of a MarshalJSON, into an error.
func marshalResult(result any) (raw []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%T is not JSON: its conversion panicked: %v", result, value)
		}
	}()
	return marshal(result)
}

// protect turns a panic into an error.
func protect(ctx context.Context, handler Handler) (result any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return handler(ctx)
}

func endsByContext(err, told error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, told)
}

func outcomeOf(err error) Outcome {
	failure := AttemptError{Type: classOf(err), Message: cut(textOf(err), maxMessageBytes), Retryable: true}
	var panicked *panicError
	if errors.As(err, &panicked) {
		failure.Stack = cut(string(panicked.stack), maxStackBytes)
		return failedWith(failure)
	}
	var chosen *outcomeError
	if !errors.As(err, &chosen) {
		return failedWith(failure)
	}
	switch chosen.kind {
	case snooze:
		return Outcome{Kind: "snoozed", Delay: chosen.delay}
	case cancel:
		return Outcome{Kind: "cancelled", LastLines: []string{chosen.text}}
	case nonRetryable:
		failure.Retryable = false
		return failedWith(failure)
	default:
		outcome := failedWith(failure)
		outcome.Delay, outcome.HasDelay = chosen.delay, true
		return outcome
	}
}

func failedWith(failure AttemptError) Outcome { return Outcome{Kind: "failed", Error: &failure} }

func refusedOutcome(why string) Outcome {
	return failedWith(AttemptError{Type: "outcome_refused", Message: cut(why, maxMessageBytes), Retryable: true})
}

// classOf names the first error of the chain with a meaningful type, skipping the wrappers of fmt, of
// errors and of this package.
func classOf(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if _, ok := err.(*panicError); ok {
			return "panic"
		}
		t := reflect.TypeOf(err)
		pkg := t.PkgPath()
		if t.Kind() == reflect.Pointer {
			pkg = t.Elem().PkgPath()
		}
		if _, ok := err.(*outcomeError); !ok && pkg != "errors" && pkg != "fmt" {
			return cut(t.String(), maxTypeBytes)
		}
	}
	return "error"
}

// cut shortens a text to at most that many bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most]
}
