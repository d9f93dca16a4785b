// Package millracetest supports unit tests of applications: a client without a server, which runs
// handlers when the test asks it to, by a clock that the test moves.
//
//	fake := millracetest.New(millracetest.Drained)
//	millrace.Handle(fake, SendMail, sendMail)
//	signUp(ctx, fake, "ada@example.org") // submits a job
//	fake.Drain(ctx)                      // runs it
//
// Code that takes a *millrace.Client gets fake.Client().
package millracetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"sync"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// Mode says when a Fake runs jobs.
type Mode int

const (
	// Drained makes jobs wait for Drain.
	Drained Mode = iota
	// Inline runs a job during its submission, before Submit returns, if it is due.
	Inline
)

// Fake behaves like a client with a server, and keeps its jobs in memory. It has no leases, no
// retention and no attempt timeouts. The settings of queues that are put count; limits hold nothing back,
// and schedules fire by TriggerSchedule alone. Workflows go on as their jobs end. It is safe for concurrent use by multiple goroutines.
type Fake struct {
	mode Mode

	mutex    sync.Mutex
	now      time.Time
	jobs     []*entry // in the order of submission
	byID     map[string]*entry
	keys     map[[2]string]keyed  // by queue and idempotency key
	unique   map[[2]string]*entry // by queue and unique key
	handlers map[string]millrace.Handler
	wrappers []millrace.Middleware
	setup    setup
	flows    []*flow  // in the order of creation
	released []*entry // jobs of workflows, in the mode Inline
	token    int64
	serial   int
}

// entry is a job.
type entry struct {
	job     millrace.Job // with payload, result and logs
	spec    millrace.NewJob
	serial  int
	held    time.Time // the unique key is held at least until then, and until the job ends
	endWith context.CancelCauseFunc
	role    role // in a workflow
}

// keyed is the submission that an idempotency key stands for.
type keyed struct {
	entry *entry
	body  string
	until time.Time
}

var _ millrace.Submitter = (*Fake)(nil)
var _ millrace.TxSubmitter = (*Fake)(nil)
var _ millrace.Waiter = (*Fake)(nil)
var _ millrace.Registry = (*Fake)(nil)

// New returns a fake without jobs, whose clock shows 2030-01-01T00:00:00Z.
func New(mode Mode) *Fake {
	return &Fake{
		mode: mode, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), byID: map[string]*entry{},
		keys: map[[2]string]keyed{}, unique: map[[2]string]*entry{}, handlers: map[string]millrace.Handler{},
		setup: newSetup(),
	}
}

// Register attaches a handler to a type of job; millrace.Handle does so with a typed one.
func (f *Fake) Register(jobType string, handler millrace.Handler) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.handlers[jobType] = handler
}

// Use wraps all handlers, as Worker.Use does.
func (f *Fake) Use(middleware ...millrace.Middleware) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.wrappers = append(f.wrappers, middleware...)
}

// Now returns the time of the fake's clock.
func (f *Fake) Now() time.Time {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.now
}

// Advance moves the clock forward. Jobs that become due wait for Drain, in both modes; jobs whose
// ExpiresAt has passed expire.
func (f *Fake) Advance(d time.Duration) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.now = f.now.Add(d)
	f.look()
	f.takeReleased()
}

// look updates the jobs whose time has come. The caller holds the mutex.
func (f *Fake) look() {
	for _, e := range f.jobs {
		waits := e.job.State == millrace.Scheduled || e.job.State == millrace.Retrying
		if !waits && e.job.State != millrace.Ready {
			continue
		}
		if e.job.Attempt == 0 && !e.job.ExpiresAt.IsZero() && !e.job.ExpiresAt.After(f.now) {
			f.finish(e, millrace.Expired)
		} else if waits && !e.job.RunAt.After(f.now) {
			f.change(e, millrace.Ready)
		}
	}
}

func (f *Fake) change(e *entry, state millrace.JobState) {
	e.job.State = state
	e.job.Version++
}

func (f *Fake) finish(e *entry, state millrace.JobState) {
	f.change(e, state)
	e.job.FinishedAt = f.now
	f.jobEnded(e)
}

// Submit submits a job as Client.Submit does.
func (f *Fake) Submit(ctx context.Context, job millrace.NewJob) (*millrace.Submitted, error) {
	f.mutex.Lock()
	e, isNew, err := f.submit(ctx, job)
	if err != nil {
		f.mutex.Unlock()
		return nil, err
	}
	f.mutex.Unlock()
	if f.mode == Inline && isNew {
		f.runWhileDue(ctx, e)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return &millrace.Submitted{Job: shown(e, nil), IsNew: isNew}, nil
}

// SubmitTx takes a job at once, whatever becomes of the transaction, which may be nil.
func (f *Fake) SubmitTx(ctx context.Context, _ millrace.Tx, job millrace.NewJob) (string, error) {
	submitted, err := f.Submit(ctx, job)
	if err != nil {
		return "", err
	}
	return submitted.ID, nil
}

// SubmitBatch submits jobs as Client.SubmitBatch does.
func (f *Fake) SubmitBatch(
	ctx context.Context, jobs []millrace.NewJob, options ...millrace.BatchOption,
) ([]millrace.BatchItem, error) {
	if len(jobs) == 0 || len(jobs) > millrace.MaxBatch {
		return nil, invalid(millrace.Fault{Where: "/jobs", Detail: fmt.Sprintf("must be 1 to %d jobs", millrace.MaxBatch)})
	}
	f.mutex.Lock()
	f.look()
	items := make([]millrace.BatchItem, len(jobs))
	added := make([]*entry, 0, len(jobs))
	before := f.snapshot()
	for i, job := range jobs {
		if job.ID == "" && job.IdempotencyKey == "" {
			job.ID = millrace.MakeID(job.Queue)
		}
		e, isNew, err := f.submit(ctx, job)
		switch {
		case err != nil && millrace.IsAtomic(options...):
			f.restore(before)
			f.mutex.Unlock()
			return nil, within(err, "/jobs/"+strconv.Itoa(i))
		case err != nil:
			items[i] = millrace.BatchItem{Status: err.Status, ID: job.ID, Err: err}
		case isNew:
			items[i] = millrace.BatchItem{Status: 201, ID: e.job.ID, State: e.job.State}
			added = append(added, e)
		default:
			items[i] = millrace.BatchItem{Status: 200, ID: e.job.ID, State: e.job.State}
		}
	}
	f.mutex.Unlock()
	if f.mode == Inline {
		for _, e := range added {
			f.runWhileDue(ctx, e)
		}
	}
	return items, nil
}

// Get returns a job as Client.Get does. It can include payload, result, attempts and logs.
func (f *Fake) Get(_ context.Context, id string, include ...string) (*millrace.Job, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	e := f.byID[id]
	if e == nil {
		return nil, notFound()
	}
	job := shown(e, include)
	return &job, nil
}

// Wait returns a job that has ended, with its payload and result. For any other job it returns
// ErrWaitTimeout at once: the fake's clock stands still, so waiting would not help.
func (f *Fake) Wait(ctx context.Context, id string, timeout time.Duration) (*millrace.Job, error) {
	job, err := f.Get(ctx, id, "payload", "result")
	if err == nil && !job.State.IsFinal() {
		return nil, &millrace.Error{
			Code: "wait_timeout", Message: fmt.Sprintf("job %s is %s, and %v would change nothing", id, job.State, timeout),
		}
	}
	return job, err
}

// shown returns a copy of the job with only the requested members.
func shown(e *entry, include []string) millrace.Job {
	job := e.job
	asked := map[string]bool{}
	for _, name := range include {
		asked[name] = true
	}
	if !asked["payload"] {
		job.Payload = nil
	}
	if !asked["result"] {
		job.Result = nil
	}
	if !asked["attempts"] {
		job.Attempts = nil
	}
	if !asked["logs"] {
		job.Logs = nil
	}
	return job
}

// List returns a page of jobs as Client.List does. A filter with a Query gives ErrValidationFailed: the
// fake does not support searches.
func (f *Fake) List(_ context.Context, filter millrace.JobFilter) (*millrace.Page[millrace.Job], error) {
	if filter.Query != "" {
		return nil, invalid(millrace.Fault{Where: "q", Detail: "the fake has no searches"})
	}
	limit := filter.Limit
	if limit == 0 {
		limit = 50
	}
	if limit < 1 || limit > 1000 {
		return nil, invalid(millrace.Fault{Where: "limit", Detail: "must be 1 to 1000"})
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	below := f.serial + 1
	if filter.Cursor != "" {
		var err error
		if below, err = strconv.Atoi(filter.Cursor); err != nil {
			return nil, invalid(millrace.Fault{Where: "cursor", Detail: "is none of the fake's"})
		}
	}
	page := &millrace.Page[millrace.Job]{Items: []millrace.Job{}}
	for i := len(f.jobs) - 1; i >= 0; i-- {
		e := f.jobs[i]
		if e.serial >= below || !chosen(&e.job, &filter) {
			continue
		}
		if len(page.Items) == limit {
			page.NextCursor = strconv.Itoa(below)
			break
		}
		page.Items = append(page.Items, shown(e, filter.Include))
		below = e.serial
	}
	return page, nil
}

func chosen(job *millrace.Job, filter *millrace.JobFilter) bool {
	ok := len(filter.States) == 0
	for _, state := range filter.States {
		ok = ok || state == job.State
	}
	ok = ok && (filter.Queue == "" || filter.Queue == job.Queue) && (filter.Type == "" || filter.Type == job.Type)
	ok = ok && (filter.CreatedAfter.IsZero() || !job.CreatedAt.Before(filter.CreatedAfter))
	ok = ok && (filter.CreatedBefore.IsZero() || job.CreatedAt.Before(filter.CreatedBefore))
	if !ok || filter.Tag == "" {
		return ok
	}
	for _, tag := range job.Tags {
		if tag == filter.Tag {
			return true
		}
	}
	return false
}

// Cancel cancels a job as Client.Cancel does. The handler of a running job is told.
func (f *Fake) Cancel(ctx context.Context, id, reason string) (*millrace.Job, error) {
	if len(reason) > 1024 {
		return nil, invalid(millrace.Fault{Where: "/reason", Detail: "must be at most 1024 bytes"})
	}
	f.mutex.Lock()
	defer f.runReleased(ctx)
	e := f.byID[id]
	switch {
	case e == nil:
		return nil, notFound()
	case e.job.State.IsFinal():
		return nil, wrongState()
	}
	f.cancel(e)
	job := shown(e, nil)
	return &job, nil
}

// cancel cancels a job that has not ended. The caller holds the mutex.
func (f *Fake) cancel(e *entry) {
	if e.job.State != millrace.Running {
		f.finish(e, millrace.Cancelled)
		return
	}
	e.job.CancelRequested = true
	e.job.Version++
	e.endWith(millrace.ErrCancelled)
}

// Retry makes a job that has ended ready again, as Client.Retry does.
func (f *Fake) Retry(_ context.Context, id string, settings ...millrace.RetryJob) (*millrace.Job, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	e := f.byID[id]
	if e == nil {
		return nil, notFound()
	}
	if !e.job.State.IsFinal() {
		return nil, wrongState()
	}
	if e.role.member != nil {
		const message = "the job is a member's: it is retried with its workflow, which the fake does not do"
		return nil, refusal(http.StatusConflict, "invalid_state", message)
	}
	e.job.RunAt, e.job.FinishedAt, e.job.ExpiresAt = f.now, time.Time{}, time.Time{}
	e.job.CancelRequested = false
	e.job.Generation++
	keep := false
	for _, s := range settings {
		keep = s.KeepAttempts
		if !s.RunAt.IsZero() {
			e.job.RunAt = s.RunAt
		}
	}
	if !keep {
		e.job.Attempt = 0
	}
	f.change(e, millrace.Ready)
	if e.job.RunAt.After(f.now) {
		e.job.State = millrace.Scheduled
	}
	job := shown(e, nil)
	return &job, nil
}

// Enqueued returns the submitted jobs of a type, oldest first, with their payloads. An empty type
// means all jobs.
func (f *Fake) Enqueued(jobType string) []millrace.Job {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	jobs := []millrace.Job{}
	for _, e := range f.jobs {
		if jobType == "" || e.job.Type == jobType {
			jobs = append(jobs, shown(e, []string{"payload", "result"}))
		}
	}
	sort.SliceStable(jobs, func(i, k int) bool { return jobs[i].CreatedAt.Before(jobs[k].CreatedAt) })
	return jobs
}

// Payloads returns the payloads of the submitted jobs of a type, oldest first. It panics if one can't
// be decoded.
func Payloads[P, R any](f *Fake, of millrace.JobType[P, R]) []P {
	jobs := f.Enqueued(of.Name())
	payloads := make([]P, len(jobs))
	for i := range jobs {
		if err := json.Unmarshal(jobs[i].Payload, &payloads[i]); err != nil {
			panic(fmt.Sprintf("millracetest: the payload of job %s: %v", jobs[i].ID, err))
		}
	}
	return payloads
}
