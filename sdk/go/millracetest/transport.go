package millracetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// Client returns a client whose requests the fake answers within the process, for code that takes a
// *millrace.Client: that which declares queues, limits and schedules at a program's start, or submits
// jobs, or creates workflows. A call that the fake does not know is refused with the code "not_in_fake", and so is a worker:
// Drain runs the handlers. SubmitTx needs a database; the fake itself has one that needs none.
func (f *Fake) Client() *millrace.Client {
	client, err := millrace.New(millrace.Options{
		URL: "http://fake.invalid", Token: "fake", Transport: transport{f},
		QueueFullTimeout: -1, // the queue becomes no emptier while the caller waits
	})
	if err != nil {
		panic(err) // only a token can be wrong
	}
	return client
}

// transport is an http.RoundTripper.
type transport struct{ fake *Fake }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	status, value, err := t.fake.answer(r, body)
	var e *millrace.Error
	if errors.As(err, &e) {
		status, value = e.Status, problemOf(e)
	} else if err != nil {
		return nil, err
	}
	var text []byte
	if status != http.StatusNoContent {
		if text, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, nil
}

type object = map[string]any

func problemOf(e *millrace.Error) object {
	faults := make([]object, len(e.Errors))
	for i, fault := range e.Errors {
		faults[i] = object{"pointer": fault.Where, "detail": fault.Detail}
	}
	return object{"status": e.Status, "code": e.Code, "detail": e.Message, "request_id": "fake", "errors": faults}
}

// answer returns the status and the value of the answer to a request.
func (f *Fake) answer(r *http.Request, body []byte) (int, any, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/v1/"), "/")
	name := ""
	if len(parts) > 1 {
		if unescaped, err := url.PathUnescape(parts[1]); err == nil {
			name = unescaped
		}
		if parts[1] != "batch" {
			parts[1] = "*"
		}
	}
	ctx, route := r.Context(), r.Method+" "+strings.Join(parts, "/")
	switch parts[0] {
	case "jobs":
		return f.answerJobs(ctx, route, name, r, body)
	case "workflows":
		return f.answerWorkflows(parts, name, r, body)
	}
	switch route {
	case "PUT queues/*":
		return put(ctx, name, body, f.PutQueue)
	case "GET queues/*":
		return found(f.Queue(ctx, name))
	case "PUT limits/*":
		return put(ctx, name, body, f.PutLimit)
	case "GET limits/*":
		return found(f.Limit(ctx, name))
	case "PUT schedules":
		var set millrace.ScheduleSet
		if err := json.Unmarshal(body, &set); err != nil {
			return 0, nil, err
		}
		return found(f.ApplySchedules(ctx, set))
	case "PUT schedules/*":
		return put(ctx, name, body, f.PutSchedule)
	case "GET schedules/*":
		return found(f.Schedule(ctx, name))
	case "DELETE schedules/*":
		return http.StatusNoContent, nil, f.DeleteSchedule(ctx, name)
	case "POST schedules/*/trigger":
		return submitted(f.TriggerSchedule(ctx, name, time.Time{}))
	}
	return 0, nil, unknown(r)
}

func unknown(r *http.Request) *millrace.Error {
	message := "the fake does not answer " + r.Method + " " + r.URL.Path
	return refusal(http.StatusUnprocessableEntity, "not_in_fake", message)
}

func (f *Fake) answerJobs(
	ctx context.Context, route, id string, r *http.Request, body []byte,
) (int, any, error) {
	query := r.URL.Query()
	switch route {
	case "POST jobs":
		var job millrace.NewJob
		if err := json.Unmarshal(body, &job); err != nil {
			return 0, nil, err
		}
		job.IdempotencyKey = r.Header.Get("Idempotency-Key")
		return submitted(f.Submit(ctx, job))
	case "POST jobs/batch":
		return f.answerBatch(ctx, body)
	case "GET jobs":
		filter, err := filterOf(query)
		if err != nil {
			return 0, nil, err
		}
		return found(f.List(ctx, filter))
	case "GET jobs/*":
		if query.Get("until") == "final" {
			if _, err := f.Wait(ctx, id, 0); err != nil {
				return 0, nil, err
			}
		}
		return found(f.Get(ctx, id, words(query, "include")...))
	case "GET jobs/*/logs":
		job, err := f.Get(ctx, id, "logs")
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, millrace.Page[millrace.LogLine]{Items: job.Logs}, nil
	case "POST jobs/*/cancel":
		var said struct{ Reason string }
		if err := json.Unmarshal(body, &said); err != nil {
			return 0, nil, err
		}
		return found(f.Cancel(ctx, id, said.Reason))
	case "POST jobs/*/retry":
		said := struct {
			RunAt time.Time `json:"run_at"`
			Reset *bool     `json:"reset_attempts"`
		}{}
		if err := json.Unmarshal(body, &said); err != nil {
			return 0, nil, err
		}
		keep := said.Reset != nil && !*said.Reset
		return found(f.Retry(ctx, id, millrace.RetryJob{RunAt: said.RunAt, KeepAttempts: keep}))
	}
	return 0, nil, unknown(r)
}

func (f *Fake) answerBatch(ctx context.Context, body []byte) (int, any, error) {
	var batch struct {
		Jobs   []millrace.NewJob `json:"jobs"`
		Atomic bool              `json:"atomic"`
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		return 0, nil, err
	}
	var options []millrace.BatchOption
	if batch.Atomic {
		options = append(options, millrace.Atomic())
	}
	items, err := f.SubmitBatch(ctx, batch.Jobs, options...)
	if err != nil {
		return 0, nil, err
	}
	results := make([]object, len(items))
	for i, item := range items {
		results[i] = object{"status": item.Status, "id": item.ID, "state": item.State}
		if item.Err != nil {
			results[i]["error"] = problemOf(item.Err)
		}
	}
	return http.StatusOK, object{"results": results}, nil
}

func filterOf(query url.Values) (millrace.JobFilter, error) {
	filter := millrace.JobFilter{
		Queue: query.Get("queue"), Type: query.Get("type"), Tag: query.Get("tag"), Query: query.Get("q"),
		Include: words(query, "include"),
	}
	for _, state := range words(query, "state") {
		filter.States = append(filter.States, millrace.JobState(state))
	}
	page, err := pageIn(query)
	filter.Limit, filter.Cursor = page.Limit, page.Cursor
	if err == nil {
		err = readTimes(query, &filter.CreatedAfter, &filter.CreatedBefore)
	}
	return filter, err
}

func readTimes(query url.Values, after, before *time.Time) error {
	for name, into := range map[string]*time.Time{"created_after": after, "created_before": before} {
		if !query.Has(name) {
			continue
		}
		at, err := time.Parse(time.RFC3339, query.Get(name))
		if err != nil {
			return err
		}
		*into = at
	}
	return nil
}

func pageIn(query url.Values) (page millrace.PageOf, err error) {
	page.Cursor = query.Get("cursor")
	if query.Has("limit") {
		page.Limit, err = strconv.Atoi(query.Get("limit"))
	}
	return page, err
}

func words(query url.Values, name string) []string {
	if query.Get(name) == "" {
		return nil
	}
	return strings.Split(query.Get(name), ",")
}

func found[T any](value *T, err error) (int, any, error) {
	return http.StatusOK, value, err
}

func submitted(of *millrace.Submitted, err error) (int, any, error) {
	if err != nil {
		return 0, nil, err
	}
	if of.IsNew {
		return http.StatusCreated, of.Job, nil
	}
	return http.StatusOK, of.Job, nil
}

// put decodes what is declared, and hands it over.
func put[Given, Made any](
	ctx context.Context, name string, body []byte,
	hand func(context.Context, string, Given, ...millrace.CallOption) (*Made, error),
) (int, any, error) {
	var given Given
	if err := json.Unmarshal(body, &given); err != nil {
		return 0, nil, err
	}
	return found(hand(ctx, name, given))
}
