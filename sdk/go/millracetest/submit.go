package millracetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

const keyWindow = 24 * time.Hour

func refusal(status int, code, message string) *millrace.Error {
	return &millrace.Error{Status: status, Code: code, Message: message}
}

func notFound() *millrace.Error {
	return refusal(http.StatusNotFound, "not_found", "there is no such job")
}

func wrongState() *millrace.Error {
	return refusal(http.StatusConflict, "invalid_state", "the job's state does not allow this")
}

func invalid(faults ...millrace.Fault) *millrace.Error {
	e := refusal(http.StatusUnprocessableEntity, "validation_failed", fmt.Sprintf("%d faults", len(faults)))
	e.Errors = faults
	return e
}

// within returns the refusal of an atomic batch whose job at this place is refused.
func within(refused *millrace.Error, place string) *millrace.Error {
	if refused.Status != http.StatusUnprocessableEntity {
		return refused
	}
	faults := refused.Errors
	if len(faults) == 0 {
		faults = []millrace.Fault{{Detail: refused.Message}}
	}
	for i := range faults {
		faults[i].Where = place + faults[i].Where
	}
	return invalid(faults...)
}

// submit stores a job, or finds the existing one. The caller holds the mutex.
func (f *Fake) submit(ctx context.Context, job millrace.NewJob) (*entry, bool, *millrace.Error) {
	payload := json.RawMessage("null")
	if job.Payload != nil {
		raw, err := millrace.Encode(job.Payload)
		if err != nil {
			return nil, false, invalid(millrace.Fault{Where: "/payload", Detail: err.Error()})
		}
		payload = raw
	}
	job.Payload = payload
	if job.Queue == "" {
		job.Queue = millrace.DefaultQueue
	}
	if faults := check(&job); len(faults) > 0 {
		return nil, false, invalid(faults...)
	}
	f.look()
	body, err := json.Marshal(job)
	if err != nil {
		return nil, false, invalid(millrace.Fault{Where: "", Detail: err.Error()})
	}
	key := [2]string{job.Queue, job.IdempotencyKey}
	if job.IdempotencyKey != "" {
		if before, ok := f.keys[key]; ok && before.until.After(f.now) {
			if before.body != string(body) {
				const message = "this key was used with another body"
				return nil, false, refusal(http.StatusUnprocessableEntity, "idempotency_mismatch", message)
			}
			return before.entry, false, nil
		}
	}
	if e := f.byID[job.ID]; e != nil {
		return f.known(e, &job, payload)
	}
	if e, refused := f.holder(&job); e != nil || refused != nil {
		return e, false, refused
	}
	for _, limit := range job.Limits {
		if refused := f.setup.unknownLimit(limit.Name); refused != nil {
			return nil, false, refused
		}
	}
	if err := f.checkRoom(job.Queue); err != nil {
		return nil, false, err
	}
	e := f.add(ctx, job, payload)
	if job.IdempotencyKey != "" {
		f.keys[key] = keyed{e, string(body), f.now.Add(keyWindow)}
	}
	return e, true, nil
}

// known answers a submission whose id exists already.
func (f *Fake) known(e *entry, job *millrace.NewJob, payload []byte) (*entry, bool, *millrace.Error) {
	if e.job.Queue != job.Queue {
		return nil, false, refusal(http.StatusConflict, "duplicate_job", "another queue has a job with this id")
	}
	sameKey := (e.spec.Unique == nil) == (job.Unique == nil) &&
		(job.Unique == nil || e.spec.Unique.Key == job.Unique.Key)
	same := e.job.Type == job.Type && bytes.Equal(e.job.Payload, payload) && e.job.Priority == job.Priority &&
		e.job.Timeout == job.Timeout && sameKey && len(e.spec.Tags)+len(job.Tags) == 2*len(job.Tags) &&
		len(e.spec.Meta) == len(job.Meta)
	same = same && (len(job.Tags) == 0 || reflect.DeepEqual(e.spec.Tags, job.Tags))
	same = same && (len(job.Meta) == 0 || reflect.DeepEqual(e.spec.Meta, job.Meta))
	if !same {
		return nil, false, refusal(http.StatusConflict, "id_mismatch", "a job with this id has another content")
	}
	return e, false, nil
}

// holder returns the job that holds the unique key, if that job is the answer to the submission.
func (f *Fake) holder(job *millrace.NewJob) (*entry, *millrace.Error) {
	if job.Unique == nil {
		return nil, nil
	}
	e := f.unique[[2]string{job.Queue, job.Unique.Key}]
	if e == nil || e.job.State.IsFinal() && !e.held.After(f.now) {
		return nil, nil
	}
	duplicate := refusal(http.StatusConflict, "duplicate_job", "another job holds the unique key")
	switch job.Unique.OnConflict {
	case "reject":
		return nil, duplicate
	case "replace":
		if e.job.State == millrace.Running {
			return nil, duplicate
		}
		if !e.job.State.IsFinal() {
			f.finish(e, millrace.Cancelled)
		}
		return nil, nil
	}
	return e, nil
}

func (f *Fake) add(ctx context.Context, job millrace.NewJob, payload []byte) *entry {
	if job.ID == "" {
		job.ID = millrace.MakeID(job.Queue)
	}
	if from := millrace.JobFrom(ctx); from != nil && job.Traceparent == "" {
		job.Traceparent, job.Tracestate = from.Traceparent, from.Tracestate
	}
	f.setup.complete(&job)
	f.serial++
	e := &entry{spec: job, serial: f.serial}
	e.job = millrace.Job{
		ID: job.ID, Queue: job.Queue, Type: job.Type, State: millrace.Ready, Priority: job.Priority,
		MaxAttempts: job.MaxAttempts, Generation: 1, Version: 1, CreatedAt: f.now, RunAt: f.now, ExpiresAt: job.ExpiresAt,
		Retry: job.Retry, Lease: job.Lease, Timeout: job.Timeout, Unique: job.Unique, Tags: job.Tags, Meta: job.Meta,
		Limits: job.Limits, OrderKey: job.OrderKey, OrderOnFailure: job.OrderOnFailure, FairKey: job.FairKey,
		Traceparent: job.Traceparent, Payload: payload, Result: json.RawMessage("null"),
	}
	if e.job.MaxAttempts == 0 {
		e.job.MaxAttempts = 5
	}
	e.job.Retry = withDefaults(e.job.Retry)
	if e.job.Lease == 0 {
		e.job.Lease = 30 * time.Second
	}
	if u := e.job.Unique; u != nil && u.OnConflict == "" {
		e.job.Unique = &millrace.UniqueKey{Key: u.Key, For: u.For, OnConflict: "return"}
	}
	if job.Delay > 0 {
		e.job.RunAt = f.now.Add(job.Delay)
	} else if !job.RunAt.IsZero() {
		e.job.RunAt = job.RunAt
	}
	if e.job.RunAt.After(f.now) {
		e.job.State = millrace.Scheduled
	}
	if job.ExpiresIn > 0 {
		e.job.ExpiresAt = f.now.Add(job.ExpiresIn)
	}
	if job.Unique != nil {
		e.held = f.now.Add(job.Unique.For)
		f.unique[[2]string{job.Queue, job.Unique.Key}] = e
	}
	f.jobs = append(f.jobs, e)
	f.byID[job.ID] = e
	return e
}

// withDefaults fills in a policy as the server does.
func withDefaults(policy *millrace.RetryPolicy) *millrace.RetryPolicy {
	full := millrace.RetryPolicy{Strategy: "exponential"}
	if policy != nil {
		full = *policy
	}
	if full.Strategy == "list" {
		return &full
	}
	if full.Base == 0 {
		full.Base = 5 * time.Second
	}
	if full.Max == 0 {
		full.Max = 5 * time.Minute
	}
	if full.Jitter == nil {
		full.Jitter = millrace.Ptr(0.2)
	}
	return &full
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}$`)
	uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	keyPattern  = regexp.MustCompile(`^[!-~]{1,255}$`)
)

const tenYears = 10 * 365 * 24 * time.Hour

// check returns the faults that the server would find.
func check(job *millrace.NewJob) []millrace.Fault {
	var faults []millrace.Fault
	need := func(ok bool, where, detail string) {
		if !ok {
			faults = append(faults, millrace.Fault{Where: where, Detail: detail})
		}
	}
	const name = "must be 1 to 128 of A-Za-z0-9._:/-"
	payload, _ := job.Payload.(json.RawMessage)
	need(namePattern.MatchString(job.Type), "/type", name)
	need(namePattern.MatchString(job.Queue), "/queue", name)
	need(job.ID == "" || uuidPattern.MatchString(job.ID), "/id", "must be a UUIDv7 in lower case")
	need(job.Priority >= -32768 && job.Priority <= 32767, "/priority", "must be -32768 to 32767")
	need(job.MaxAttempts >= 0 && job.MaxAttempts <= 1000, "/max_attempts", "must be 1 to 1000")
	need(job.Delay >= 0 && job.Delay <= tenYears, "/delay_ms", "must be 0 to 10 years")
	need(job.Delay == 0 || job.RunAt.IsZero(), "/delay_ms", "not together with run_at")
	need(job.ExpiresIn >= 0 && job.ExpiresIn <= tenYears, "/expires_in_ms", "must be 0 to 10 years")
	need(job.ExpiresIn == 0 || job.ExpiresAt.IsZero(), "/expires_in_ms", "not together with expires_at")
	need(job.Lease == 0 || job.Lease >= time.Second && job.Lease <= 24*time.Hour, "/lease_ms", "must be 1 s to 24 h")
	need(job.Timeout >= 0 && job.Timeout <= tenYears, "/timeout_ms", "must be 1 ms to 10 years")
	need(len(payload) <= 1<<20, "/payload", "must be at most 1 MiB")
	need(len(job.Tags) <= 32, "/tags", "must be at most 32")
	for i, tag := range job.Tags {
		need(namePattern.MatchString(tag), fmt.Sprintf("/tags/%d", i), name)
	}
	need(len(job.Limits) <= 8, "/limits", "must be at most 8")
	for i, limit := range job.Limits {
		need(namePattern.MatchString(limit.Name), fmt.Sprintf("/limits/%d/name", i), name)
	}
	need(len(job.OrderKey) <= 128, "/order_key", "must be 1 to 128 bytes")
	need(len(job.FairKey) <= 128, "/fair_key", "must be 1 to 128 bytes")
	need(job.OrderOnFailure == "" || job.OrderOnFailure == "hold" || job.OrderOnFailure == "pass",
		"/order_on_failure", "must be hold or pass")
	need(job.IdempotencyKey == "" || keyPattern.MatchString(job.IdempotencyKey),
		"/idempotency_key", "must be 1 to 255 visible ASCII characters")
	if u := job.Unique; u != nil {
		need(len(u.Key) >= 1 && len(u.Key) <= 255, "/unique/key", "must be 1 to 255 bytes")
		need(u.OnConflict == "" || u.OnConflict == "return" || u.OnConflict == "reject" || u.OnConflict == "replace",
			"/unique/on_conflict", "must be return, reject or replace")
	}
	return faults
}

// state is the snapshot to which a refused atomic batch returns.
type state struct {
	jobs   int
	copies []entry
	keys   map[[2]string]keyed
	unique map[[2]string]*entry
}

func (f *Fake) snapshot() state {
	s := state{jobs: len(f.jobs), keys: map[[2]string]keyed{}, unique: map[[2]string]*entry{}}
	for _, e := range f.jobs {
		s.copies = append(s.copies, *e)
	}
	for key, value := range f.keys {
		s.keys[key] = value
	}
	for key, value := range f.unique {
		s.unique[key] = value
	}
	return s
}

func (f *Fake) restore(s state) {
	for _, e := range f.jobs[s.jobs:] {
		delete(f.byID, e.job.ID)
	}
	f.jobs = f.jobs[:s.jobs]
	for i, e := range f.jobs {
		*e = s.copies[i]
	}
	f.keys, f.unique = s.keys, s.unique
}
