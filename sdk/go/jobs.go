package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Submitter submits jobs. It is implemented by *Client and by the fake of package millracetest.
type Submitter interface {
	Submit(ctx context.Context, job NewJob) (*Submitted, error)
	SubmitBatch(ctx context.Context, jobs []NewJob, options ...BatchOption) ([]BatchItem, error)
}

// Submitted is the answer to a submission.
type Submitted struct {
	Job
	// IsNew is false if the job existed already.
	IsNew bool
}

// MarshalJSON writes the members "job" and "is_new".
func (s Submitted) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Job   Job  `json:"job"`
		IsNew bool `json:"is_new"`
	}{s.Job, s.IsNew})
}

// Submit submits a job. If it returns no error, the server has the job on disk. A job without an ID
// and without an IdempotencyKey is given an id first, so that retries are idempotent.
func (c *Client) Submit(ctx context.Context, job NewJob) (*Submitted, error) {
	request := post("/v1/jobs", nil)
	if job.IdempotencyKey != "" {
		request.header = keyHeader(job.IdempotencyKey)
		job.IdempotencyKey = ""
	} else if job.ID == "" {
		job.ID = MakeID(job.Queue)
	}
	body, err := job.append(nil)
	if err != nil {
		return nil, notJSON(err, "/payload")
	}
	request.body = body
	request.header = c.addTrace(ctx, request.header)
	submitted := new(Submitted)
	status, err := c.do(ctx, request, &submitted.Job)
	if err != nil {
		return nil, err
	}
	submitted.IsNew = status == http.StatusCreated
	return submitted, nil
}

func notJSON(err error, where string) *Error {
	return invalid(err, Fault{Where: where, Detail: err.Error()})
}

// invalid returns the refusal of a request that is not sent.
func invalid(cause error, faults ...Fault) *Error {
	return &Error{Code: "validation_failed", Message: "the request is not valid", cause: cause, Errors: faults}
}

// addTrace adds the current trace context as headers. A job's own members take precedence over them,
// and idempotency keys ignore them.
func (c *Client) addTrace(ctx context.Context, header [][2]string) [][2]string {
	parent, state := c.traceOf(ctx)
	if parent == "" {
		return header
	}
	header = append(header, [2]string{"traceparent", parent})
	if state != "" {
		header = append(header, [2]string{"tracestate", state})
	}
	return header
}

func (c *Client) traceOf(ctx context.Context) (parent, state string) {
	if c.trace != nil {
		if parent, state = c.trace(ctx); parent != "" {
			return parent, state
		}
	}
	if job := JobFrom(ctx); job != nil {
		return job.Traceparent, job.Tracestate
	}
	return "", ""
}

// BatchOption changes a call of SubmitBatch.
type BatchOption func(*batch)

type batch struct{ atomic bool }

// Atomic makes the server store all jobs of a batch or none. If it refuses one, the whole call fails.
func Atomic() BatchOption { return func(b *batch) { b.atomic = true } }

// IsAtomic reports whether the options contain Atomic, for implementations of Submitter.
func IsAtomic(options ...BatchOption) bool {
	var settings batch
	for _, option := range options {
		option(&settings)
	}
	return settings.atomic
}

// BatchItem is the result for one job of a batch.
type BatchItem struct {
	Status int      // 201: the job is new; 200: it existed already; else it was refused
	ID     string   // may be empty if it was refused
	State  JobState // empty if it was refused
	Err    *Error   // nil unless it was refused
}

// UnmarshalJSON reads the API's form.
func (i *BatchItem) UnmarshalJSON(data []byte) error {
	var w struct {
		Status int      `json:"status"`
		ID     string   `json:"id"`
		State  JobState `json:"state"`
		Error  *problem `json:"error"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*i = BatchItem{Status: w.Status, ID: w.ID, State: w.State}
	if w.Error != nil {
		i.Err = w.Error.asError(w.Status)
	}
	return nil
}

// MaxBatch is the maximum number of jobs in one batch.
const MaxBatch = 1000

// SubmitBatch submits up to MaxBatch jobs in one commit. The server accepts or refuses each job
// separately, unless the batch is Atomic. The items are in the order of the jobs; check each Err. Jobs
// are given ids as by Submit.
func (c *Client) SubmitBatch(ctx context.Context, jobs []NewJob, options ...BatchOption) ([]BatchItem, error) {
	body := append(make([]byte, 0, 256*len(jobs)+32), `{"jobs":[`...)
	for i, job := range jobs {
		if i > 0 {
			body = append(body, ',')
		}
		if job.ID == "" && job.IdempotencyKey == "" {
			job.ID = MakeID(job.Queue)
		}
		var err error
		if body, err = job.append(body); err != nil {
			return nil, notJSON(err, "/jobs/"+strconv.Itoa(i)+"/payload")
		}
	}
	body = append(body, ']')
	if IsAtomic(options...) {
		body = append(body, `,"atomic":true`...)
	}
	request := post("/v1/jobs/batch", append(body, '}'))
	request.header = c.addTrace(ctx, request.header)
	var answer struct {
		Results []BatchItem `json:"results"`
	}
	_, err := c.do(ctx, request, &answer)
	return answer.Results, err
}

// SubmitAll submits any number of jobs in batches of MaxBatch. The error joins the errors of all
// refused jobs. If a whole batch fails, the rest is not submitted; the call can be repeated safely if
// the jobs have ids or idempotency keys.
func SubmitAll(ctx context.Context, to Submitter, jobs []NewJob) error {
	var refused []error
	for first := 0; first < len(jobs); first += MaxBatch {
		items, err := to.SubmitBatch(ctx, jobs[first:min(first+MaxBatch, len(jobs))])
		if err != nil {
			return errors.Join(append(refused, err)...)
		}
		for i := range items {
			if items[i].Err != nil {
				refused = append(refused, fmt.Errorf("job %d: %w", first+i, items[i].Err))
			}
		}
	}
	return errors.Join(refused...)
}

// Get returns a job. The names to include are payload, result, attempts, logs and events.
func (c *Client) Get(ctx context.Context, id string, include ...string) (*Job, error) {
	request := get(jobPath(id, ""))
	request.query = includeQuery(include)
	return fetch[Job](ctx, c, request)
}

func jobPath(id, rest string) string { return "/v1/jobs/" + url.PathEscape(id) + rest }

func includeQuery(include []string) url.Values {
	if len(include) == 0 {
		return nil
	}
	return url.Values{"include": {strings.Join(include, ",")}}
}

// Wait waits until a job has ended and returns it with its payload and result. It may have ended in
// any way; check its State. If it has not ended within the timeout, the error is ErrWaitTimeout. With
// a timeout of 0 or less, only the context bounds the wait. A job that was submitted in a transaction
// comes a moment after the commit, so ErrNotFound takes 2 s.
func (c *Client) Wait(ctx context.Context, id string, timeout time.Duration) (*Job, error) {
	request := get(jobPath(id, ""))
	request.query = url.Values{"include": {"payload,result"}}
	return await(ctx, c, request, timeout, func(job *Job) error {
		if job.State.IsFinal() {
			return nil
		}
		return waitTimeout("job", id, string(job.State), timeout)
	})
}

func waitTimeout(kind, id, state string, timeout time.Duration) error {
	return &Error{Code: "wait_timeout", Message: kind + " " + id + " is " + state + " after " + timeout.String()}
}

// await asks for something until it has ended, that is, until `open` returns nil instead of the error for
// the end of the timeout.
func await[T any](
	ctx context.Context, c *Client, request call, timeout time.Duration, open func(*T) error,
) (*T, error) {
	begin := time.Now()
	deadline := begin.Add(timeout)
	comes := begin.Add(commitPatience)
	if timeout > 0 {
		comes = earliest(comes, deadline)
	}
	request.query.Set("until", "final")
	for {
		wait := longestWait
		if timeout > 0 {
			wait = max(min(time.Until(deadline), longestWait), 0)
		}
		request.patience = wait
		request.query.Set("wait_ms", formatInt(milliseconds(wait)))
		answer, err := fetch[T](ctx, c, request)
		if errors.Is(err, ErrNotFound) && time.Now().Before(comes) && sleep(ctx, commitPause) {
			continue
		}
		if err != nil {
			return answer, err
		}
		late := open(answer)
		if late == nil {
			return answer, nil
		}
		if timeout > 0 && time.Until(deadline) <= 0 {
			return nil, late
		}
	}
}

// JobFilter chooses jobs. The zero value chooses all.
type JobFilter struct {
	States        []JobState
	Queue         string
	Type          string
	Tag           string
	CreatedAfter  time.Time // inclusive
	CreatedBefore time.Time
	// Query is a search such as "state:dead error~timeout payload.user.id:42".
	Query string
	// Fresh waits until the tables show all changes acknowledged before the call. Otherwise they may be
	// 1 s behind.
	Fresh bool
	// Include names payload and result.
	Include []string
	// Limit is the maximum size of a page, 1 to 1000; 0 means 50.
	Limit int
	// Cursor is the NextCursor of the previous page.
	Cursor string
}

func (f *JobFilter) query() url.Values {
	states := make([]string, len(f.States))
	for i, state := range f.States {
		states[i] = string(state)
	}
	q := query{}
	q.set("state", strings.Join(states, ","))
	q.set("queue", f.Queue)
	q.set("type", f.Type)
	q.set("tag", f.Tag)
	q.setTime("created_after", f.CreatedAfter)
	q.setTime("created_before", f.CreatedBefore)
	q.set("q", f.Query)
	if f.Fresh {
		q.set("fresh", "true")
	}
	q.set("include", strings.Join(f.Include, ","))
	q.setInt("limit", f.Limit)
	q.set("cursor", f.Cursor)
	return url.Values(q)
}

// query leaves out empty values.
type query url.Values

func (q query) set(name, value string) {
	if value != "" {
		q[name] = []string{value}
	}
}

func (q query) setInt(name string, value int) {
	if value != 0 {
		q.set(name, strconv.Itoa(value))
	}
}

func (q query) setTime(name string, value time.Time) {
	if !value.IsZero() {
		q.set(name, value.UTC().Format(timeLayout))
	}
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// List returns a page of the jobs that the filter selects, newest first. A page may have fewer jobs
// than its limit, or none, and still have a next page.
func (c *Client) List(ctx context.Context, filter JobFilter) (*Page[Job], error) {
	request := get("/v1/jobs")
	request.query = filter.query()
	return fetch[Page[Job]](ctx, c, request)
}

// All returns an iterator over the jobs that the filter selects, newest first, page by page. Use it
// with range; before Go 1.23 call it with the loop's body as a function that returns false to stop.
// The iteration ends after an error.
func (c *Client) All(ctx context.Context, filter JobFilter) func(yield func(*Job, error) bool) {
	return each(func(cursor string) (*Page[Job], error) {
		filter.Cursor = cursor
		return c.List(ctx, filter)
	}, filter.Cursor)
}

// Logs returns all lines of a job's log, oldest first.
func (c *Client) Logs(ctx context.Context, id string) ([]LogLine, error) {
	lines := []LogLine{}
	for cursor := ""; ; {
		q := query{"limit": {"1000"}}
		q.set("cursor", cursor)
		request := get(jobPath(id, "/logs"))
		request.query = url.Values(q)
		page, err := fetch[Page[LogLine]](ctx, c, request)
		if err != nil {
			return nil, err
		}
		lines = append(lines, page.Items...)
		if cursor = page.NextCursor; cursor == "" {
			return lines, nil
		}
	}
}

// Cancel cancels a job. A waiting job is cancelled at once; a running one is flagged, and its worker is
// told. The reason is for people, at most 1,024 bytes; it may be empty.
func (c *Client) Cancel(ctx context.Context, id, reason string) (*Job, error) {
	request := post(jobPath(id, "/cancel"), reasonBody(reason))
	job := new(Job)
	_, tries, err := c.try(ctx, request, job)
	if err == nil {
		return job, nil
	}
	if tries > 1 && errors.Is(err, ErrInvalidState) {
		// An earlier try may have cancelled the job, and its answer was lost.
		if now, e := c.Get(ctx, id); e == nil && now.State == Cancelled {
			return now, nil
		}
	}
	return nil, err
}

func reasonBody(reason string) []byte {
	m := openObject(nil)
	m.maybeText("reason", reason)
	return m.close()
}

// RetryJob holds the settings of Client.Retry.
type RetryJob struct {
	RunAt        time.Time // zero: now
	KeepAttempts bool      // continue the count of attempts instead of starting at 0
}

// Retry makes a job that has ended ready again. The call is not retried if the server may have begun
// it: check the job's Generation after ErrUnreachable.
func (c *Client) Retry(ctx context.Context, id string, settings ...RetryJob) (*Job, error) {
	m := openObject(nil)
	for _, s := range settings {
		m.maybeTime("run_at", s.RunAt)
		if s.KeepAttempts {
			m.boolean("reset_attempts", false)
		}
	}
	request := post(jobPath(id, "/retry"), m.close())
	request.once = true
	return fetch[Job](ctx, c, request)
}

// Delete deletes a job that is not running.
func (c *Client) Delete(ctx context.Context, id string, options ...CallOption) error {
	return c.delete(ctx, jobPath(id, ""), options)
}

func (c *Client) delete(ctx context.Context, path string, options []CallOption) error {
	request := call{method: http.MethodDelete, path: path}
	for _, option := range options {
		option(&request)
	}
	_, err := c.do(ctx, request, nil)
	return err
}
