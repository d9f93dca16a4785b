package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// step is ["name", argument...].
type step []json.RawMessage

func (s step) name() string { return s.text(0) }

func (s step) text(i int) string {
	var text string
	s.read(i, &text)
	return strings.ReplaceAll(text, "<half>", "\xff") // text that is not Unicode
}

// indescribable is an error whose text fails.
type indescribable struct{}

func (indescribable) Error() string { panic("no text") }

// broken is a result whose conversion fails.
type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { panic("no JSON") }

func (s step) ms(i int) time.Duration {
	var n float64
	s.read(i, &n)
	return time.Duration(n * float64(time.Millisecond))
}

// read leaves the value unchanged if there is no such argument.
func (s step) read(i int, value any) {
	if i < len(s) {
		_ = json.Unmarshal(s[i], value)
	}
}

func (p *program) middleware(next millrace.Handler) millrace.Handler {
	return func(ctx context.Context) (any, error) {
		job := millrace.JobFrom(ctx).ID
		p.event("middleware", object{"job": job, "phase": "before"})
		defer p.event("middleware", object{"job": job, "phase": "after"})
		return next(ctx)
	}
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

var reasons = map[error]string{
	millrace.ErrCancelled: "cancelled", millrace.ErrTimedOut: "timeout",
	millrace.ErrLeaseLost: "lease_lost", millrace.ErrStopping: "stopping",
}

// handler plays the script of a job.
func (p *program) handler(worker string, client millrace.Submitter) millrace.Handler {
	return func(ctx context.Context) (any, error) {
		job := millrace.JobFrom(ctx)
		start := object{
			"worker": worker, "job": job.ID, "type": job.Type, "queue": job.Queue, "attempt": job.Attempt,
			"token": job.Token(), "meta": job.Meta, "checkpoint": job.Checkpoint(), "traceparent": nil,
			"schedule": job.Schedule, "workflow": job.Workflow, "parents": object{},
		}
		if job.Parents != nil {
			start["parents"] = job.Parents
		}
		if job.Traceparent != "" {
			start["traceparent"] = job.Traceparent
		}
		p.event("start", start)
		wasTold := p.watch(ctx, job)
		defer func() {
			told := wasTold()
			p.event("end", object{"job": job.ID, "token": job.Token()})
			if !told {
				p.tellOf(job) // the context ended while the event was written
			}
		}()
		var payload struct{ Script []step }
		if err := json.Unmarshal(job.Payload, &payload); err != nil {
			return nil, err
		}
		value, _, err := p.play(ctx, client, job, payload.Script)
		return value, err
	}
}

// watch reports the end of the handler's context as soon as it happens. The returned function stops
// the watch and says whether the context had ended.
func (p *program) watch(ctx context.Context, job *millrace.JobContext) func() bool {
	quit, told := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ctx.Done():
		case <-quit:
		}
		told <- p.tellOf(job)
	}()
	return func() bool {
		close(quit)
		return <-told
	}
}

func (p *program) tellOf(job *millrace.JobContext) bool {
	reason := job.StopReason()
	if reason != nil {
		p.event("told", object{"job": job.ID, "token": job.Token(), "reason": reasons[reason]})
	}
	return reason != nil
}

// play runs steps. It returns whether one of them ended the script.
func (p *program) play(
	ctx context.Context, client millrace.Submitter, job *millrace.JobContext, script []step,
) (any, bool, error) {
	for _, s := range script {
		switch s.name() {
		case "on_attempt":
			var attempt int
			var steps []step
			s.read(1, &attempt)
			s.read(2, &steps)
			if attempt == job.Attempt {
				if value, ended, err := p.play(ctx, client, job, steps); ended || err != nil {
					return value, true, err
				}
			}
		case "return":
			var value json.RawMessage
			s.read(1, &value)
			return value, true, nil
		case "parent":
			value, err := millrace.ParentResult[json.RawMessage](ctx, s.text(1))
			return value, true, err
		case "bad_result":
			return math.NaN(), true, nil
		case "broken_result":
			return broken{}, true, nil
		default:
			if err := p.act(ctx, client, job, s); err != nil {
				return nil, true, err
			}
		}
	}
	return nil, false, nil
}

func (p *program) act(ctx context.Context, client millrace.Submitter, job *millrace.JobContext, s step) error {
	switch s.name() {
	case "sleep":
		select {
		case <-time.After(s.ms(1)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case "stubborn":
		time.Sleep(s.ms(1))
	case "block":
		for until := time.Now().Add(s.ms(1)); time.Now().Before(until); {
		}
	case "progress":
		return report(job, s)
	case "log":
		slog.Log(ctx, levels[s.text(1)], s.text(2))
	case "submit":
		return p.submit(ctx, client, job, s)
	case "bad_progress":
		job.Progress(math.NaN(), "")
		_ = job.SaveCheckpoint(math.NaN())
	case "enqueue":
		var next millrace.NewJob
		s.read(1, &next)
		return job.Enqueue(next)
	case "grow":
		return grow(job, s)
	case "fail":
		return errors.New(s.text(1))
	case "fail_indescribably":
		return indescribable{}
	case "non_retryable":
		return millrace.NonRetryable(errors.New(s.text(1)))
	case "snooze":
		return millrace.Snooze(s.ms(1))
	case "retry_after":
		return millrace.RetryAfter(s.ms(1), errors.New(s.text(2)))
	case "cancel":
		return millrace.Cancel(s.text(1))
	case "panic":
		panic(s.text(1))
	case "exit":
		os.Exit(9)
	default:
		return millrace.NonRetryable(fmt.Errorf("%q is no step", s.name()))
	}
	return nil
}

func report(job *millrace.JobContext, s step) error {
	percent := -1.0
	s.read(1, &percent)
	job.Progress(percent, s.text(2))
	if len(s) > 3 && string(s[3]) != "null" {
		return job.SaveCheckpoint(s[3])
	}
	return nil
}

func (p *program) submit(ctx context.Context, client millrace.Submitter, job *millrace.JobContext, s step) error {
	var next millrace.NewJob
	s.read(1, &next)
	submitted, err := client.Submit(ctx, next)
	if err == nil {
		p.event("submitted", object{"job": job.ID, "id": submitted.ID})
	}
	return err
}

func grow(job *millrace.JobContext, s step) error {
	var grown struct {
		Members []millrace.NewMember
		Skip    []string
	}
	s.read(1, &grown)
	for _, member := range grown.Members {
		if err := job.Add(member.Ref, member.Job, needsOf(&member)); err != nil {
			return err
		}
	}
	for _, ref := range grown.Skip {
		if err := job.Skip(ref); err != nil {
			return err
		}
	}
	return nil
}
