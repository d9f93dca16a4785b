package millrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

var ctx = context.Background()

func newClient(t *testing.T) *millrace.Client {
	t.Helper()
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: testserver.New(t).URL, Timeout: 60 * time.Second}))
	t.Cleanup(client.Close)
	return client
}

func must[T any](t testing.TB) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wants(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s is %s, not %s", what, g, w)
	}
}

func refusedWith(t *testing.T, err, kind error) *millrace.Error {
	t.Helper()
	var e *millrace.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Fatalf("the error is %v, not %v", err, kind)
	}
	return e
}

func TestSubmissionKeepsEveryMember(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	jitter := 0.5
	sent := millrace.NewJob{
		Type: "t", Queue: "q", Payload: json.RawMessage(`{"n":  12345678901234567890, "f": 1.50, "s": "<é>"}`), Priority: -7,
		Delay: 90 * time.Second, ExpiresIn: time.Hour, MaxAttempts: 9, Lease: 45 * time.Second, Timeout: 1500 * time.Microsecond,
		Retry:  &millrace.RetryPolicy{Strategy: "linear", Base: millrace.NoDelay, Max: time.Minute, Jitter: &jitter},
		Unique: &millrace.UniqueKey{Key: "k", For: time.Minute, OnConflict: "reject"},
		Tags:   []string{"a", "b"}, Meta: map[string]string{"tenant": "x\n\x01\"\\\xff"},
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	submitted := must[*millrace.Submitted](t)(client.Submit(ctx, sent))
	job := must[*millrace.Job](t)(client.Get(ctx, submitted.ID, "payload"))
	wants(t, "is new", submitted.IsNew, true)
	wants(t, "state", job.State, millrace.Scheduled)
	wants(t, "payload", string(job.Payload), string(sent.Payload.(json.RawMessage)))
	wants(t, "priority", job.Priority, -7)
	wants(t, "delay", job.RunAt.Sub(job.CreatedAt), 90*time.Second)
	wants(t, "expiry", job.ExpiresAt.Sub(job.CreatedAt), time.Hour)
	wants(t, "numbers", []any{job.MaxAttempts, job.Lease, job.Timeout}, []any{9, 45 * time.Second, 2 * time.Millisecond})
	wants(t, "retry", job.Retry, sent.Retry)
	wants(t, "unique", job.Unique, sent.Unique)
	wants(t, "tags", job.Tags, sent.Tags)
	wants(t, "meta", job.Meta, map[string]string{"tenant": "x\n\x01\"\\\ufffd"})
	wants(t, "traceparent", job.Traceparent, sent.Traceparent)
}

func TestJobsHaveTheAPIsForm(t *testing.T) {
	t.Parallel()
	server := testserver.New(t)
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: server.URL}))
	job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Payload: 1}))
	must[*millrace.Schedule](t)(client.PutSchedule(ctx, "s", millrace.ScheduleSpec{Every: time.Hour, Job: millrace.NewJob{Type: "t", Queue: "default"}}))
	for path, value := range map[string]any{
		"/v1/jobs/" + job.ID + "?include=payload,result": new(millrace.Job),
		"/v1/jobs":           new(millrace.Page[millrace.Job]),
		"/v1/queues/default": new(millrace.QueueInfo),
		"/v1/queues":         new(millrace.Page[millrace.QueueInfo]),
		"/v1/schedules/s":    new(millrace.Schedule),
	} {
		hasTheAPIsForm(t, server.URL, path, value)
	}
}

// hasTheAPIsForm checks that an answer, read into the value, is written again as the server wrote it.
func hasTheAPIsForm(t *testing.T, url, path string, value any) {
	t.Helper()
	answer := must[*http.Response](t)(http.Get(url + path))
	var raw any
	if err := json.NewDecoder(answer.Body).Decode(&raw); err != nil {
		t.Fatal(path, err)
	}
	_ = answer.Body.Close()
	data, _ := json.Marshal(raw)
	if err := json.Unmarshal(data, value); err != nil {
		t.Fatal(path, err)
	}
	var again any
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(path, err)
	}
	_ = json.Unmarshal(encoded, &again)
	wants(t, path, again, raw)
}

func TestSubmissionsAreOnceOnly(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	id := millrace.MakeID("q")
	first := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{ID: id, Type: "t", Queue: "q", Payload: 1}))
	again := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{ID: id, Type: "t", Queue: "q", Payload: 1}))
	wants(t, "both", []any{first.IsNew, again.IsNew, again.ID}, []any{true, false, id})
	_, err := client.Submit(ctx, millrace.NewJob{ID: id, Type: "t", Queue: "q", Payload: 2})
	refusedWith(t, err, millrace.ErrIDMismatch)
	unique := millrace.UniqueKey{Key: "k", OnConflict: "reject"}
	must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Unique: &unique}))
	_, err = client.Submit(ctx, millrace.NewJob{Type: "t", Unique: &unique})
	refusedWith(t, err, millrace.ErrDuplicateJob)
	keyed := millrace.NewJob{Type: "t", IdempotencyKey: "key"}
	one := must[*millrace.Submitted](t)(client.Submit(ctx, keyed))
	two := must[*millrace.Submitted](t)(client.Submit(ctx, keyed))
	wants(t, "the keyed job", []any{two.ID, two.IsNew}, []any{one.ID, false})
}

func TestErrorsTellWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	_, err := client.Submit(ctx, millrace.NewJob{Type: "not a name", Priority: 99999})
	e := refusedWith(t, err, millrace.ErrValidationFailed)
	wants(t, "status", e.Status, 422)
	wants(t, "faults", len(e.Errors), 2)
	if e.RequestID == "" || !strings.Contains(e.Error(), "/priority: ") {
		t.Errorf("the error does not tell enough: %v", e)
	}
	_, err = client.Submit(ctx, millrace.NewJob{Type: "t", Payload: func() {}})
	refusedWith(t, err, millrace.ErrValidationFailed)
	_, err = client.Submit(ctx, millrace.NewJob{Type: "t", Payload: json.RawMessage(`{]`)})
	refusedWith(t, err, millrace.ErrValidationFailed)
	_, err = client.Get(ctx, millrace.MakeID(""))
	refusedWith(t, err, millrace.ErrNotFound)
	if errors.Is(err, millrace.ErrForbidden) {
		t.Error("an error is of two kinds")
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	jobs := []millrace.NewJob{{Type: "a"}, {Type: "b", Priority: 99999}, {Type: "c", IdempotencyKey: "k"}}
	items := must[[]millrace.BatchItem](t)(client.SubmitBatch(ctx, jobs))
	wants(t, "statuses", []int{items[0].Status, items[1].Status, items[2].Status}, []int{201, 422, 201})
	refusedWith(t, items[1].Err, millrace.ErrValidationFailed)
	_, err := client.SubmitBatch(ctx, jobs, millrace.Atomic())
	e := refusedWith(t, err, millrace.ErrValidationFailed)
	wants(t, "where", e.Errors[0].Where, "/jobs/1/priority")
	if err := millrace.SubmitAll(ctx, client, jobs); !errors.Is(err, millrace.ErrValidationFailed) {
		t.Errorf("the error of SubmitAll is %v", err)
	}
	many := make([]millrace.NewJob, 2500)
	for i := range many {
		many[i] = millrace.NewJob{Type: "m", Queue: "many"}
	}
	if err := millrace.SubmitAll(ctx, client, many); err != nil {
		t.Fatal(err)
	}
	wants(t, "ready", must[*millrace.QueueInfo](t)(client.Queue(ctx, "many")).Counts.Ready, 2500)
}

func TestListsGoOnToTheEnd(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	var submitted []string
	for i := 0; i < 7; i++ {
		job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q", Payload: i, Tags: []string{"x"}}))
		submitted = append([]string{job.ID}, submitted...)
	}
	filter := millrace.JobFilter{Queue: "q", Tag: "x", States: []millrace.JobState{millrace.Ready}, Fresh: true, Limit: 3}
	page := must[*millrace.Page[millrace.Job]](t)(client.List(ctx, filter))
	wants(t, "the page's size", len(page.Items), 3)
	var listed []string
	client.All(ctx, filter)(func(job *millrace.Job, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, job.ID)
		return len(listed) < 6
	})
	wants(t, "the list", listed, submitted[:6])
}

func TestChangesOfAJob(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	wants(t, "state", must[*millrace.Job](t)(client.Cancel(ctx, job.ID, "why")).State, millrace.Cancelled)
	_, err := client.Cancel(ctx, job.ID, "")
	refusedWith(t, err, millrace.ErrInvalidState)
	again := must[*millrace.Job](t)(client.Retry(ctx, job.ID, millrace.RetryJob{RunAt: time.Now().Add(time.Hour)}))
	wants(t, "state", again.State, millrace.Scheduled)
	refusedWith(t, client.Delete(ctx, job.ID, millrace.IfMatch(again.Version+1)), millrace.ErrVersionConflict)
	if err := client.Delete(ctx, job.ID, millrace.IfMatch(again.Version)); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, client.Delete(ctx, job.ID), millrace.ErrNotFound)
}

func TestWait(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	began := time.Now()
	_, err := client.Wait(ctx, job.ID, 300*time.Millisecond)
	refusedWith(t, err, millrace.ErrWaitTimeout)
	if took := time.Since(began); took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("the wait took %v", took)
	}
	time.AfterFunc(100*time.Millisecond, func() { _, _ = client.Cancel(ctx, job.ID, "") })
	wants(t, "state", must[*millrace.Job](t)(client.Wait(ctx, job.ID, 60*time.Second)).State, millrace.Cancelled)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	waiting := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	if _, err = client.Wait(short, waiting.ID, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, not the context's", err)
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	kept := time.Duration(0)
	settings := millrace.QueueSettings{
		MaxAttempts: 3, Lease: time.Minute, MaxCrashes: 2, MaxReady: millrace.Ptr(1),
		Retention: millrace.Retention{Succeeded: &kept, Dead: millrace.Ptr(millrace.Forever)},
	}
	queue := must[*millrace.QueueInfo](t)(client.PutQueue(ctx, "a/b", settings))
	wants(t, "retention", []any{*queue.Settings.Retention.Succeeded, *queue.Settings.Retention.Dead}, []any{0, millrace.Forever})
	wants(t, "numbers", []any{queue.Settings.MaxAttempts, queue.Settings.MaxCrashes, *queue.Settings.MaxReady}, []any{3, 2, 1})
	must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Queue: "a/b"}))
	impatient := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: clientURL(client), Timeout: 500 * time.Millisecond}))
	var err error
	waitFor(t, "the server answers in time", func() bool {
		_, err = impatient.Submit(ctx, millrace.NewJob{Type: "t", Queue: "a/b"})
		return !errors.Is(err, millrace.ErrUnreachable)
	})
	if e := refusedWith(t, err, millrace.ErrQueueFull); e.RetryAfter < time.Second {
		t.Errorf("it asks to wait %v", e.RetryAfter)
	}
	patch := millrace.QueueSettings{MaxReady: millrace.Unbounded(), MaxCrashes: millrace.JobsOwn}
	queue = must[*millrace.QueueInfo](t)(client.PatchQueue(ctx, "a/b", patch, millrace.IfMatch(queue.Version)))
	wants(t, "what the patch left", []any{queue.Settings.MaxAttempts, *queue.Settings.MaxReady, queue.Settings.MaxCrashes}, []any{3, -1, -1})
	queue = must[*millrace.QueueInfo](t)(client.PauseQueue(ctx, "a/b", "why"))
	wants(t, "pause", []any{queue.Paused, queue.PauseReason}, []any{true, "why"})
	wants(t, "pause", must[*millrace.QueueInfo](t)(client.ResumeQueue(ctx, "a/b")).Paused, false)
	refusedWith(t, client.DeleteQueue(ctx, "a/b"), millrace.ErrInvalidState)
	if err := client.DeleteQueue(ctx, "a/b", millrace.Force()); err != nil {
		t.Fatal(err)
	}
	_, err = client.PatchQueue(ctx, "new", patch)
	refusedWith(t, err, millrace.ErrNotFound)
	must[*millrace.QueueInfo](t)(client.PatchQueue(ctx, "new", patch, millrace.Create()))
	wants(t, "queues", len(must[*millrace.Page[millrace.QueueInfo]](t)(client.Queues(ctx, millrace.PageOf{})).Items), 1)
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	spec := millrace.ScheduleSpec{
		Cron: "0 9 * * MON-FRI", Timezone: "Europe/Zurich", ManagedBy: "me", Overlap: "skip", MissedAfter: 2 * time.Minute,
		Job: millrace.NewJob{Type: "report", Queue: "reports", Payload: json.RawMessage(`{"a": 1}`)},
	}
	schedule := must[*millrace.Schedule](t)(client.PutSchedule(ctx, "daily", spec))
	wants(t, "next", len(schedule.Next), 5)
	wants(t, "spec", []any{schedule.Overlap, schedule.MissedAfter, schedule.Job.Payload}, []any{"skip", 2 * time.Minute, spec.Job.Payload})
	wants(t, "version", must[*millrace.Schedule](t)(client.PutSchedule(ctx, "daily", spec)).Version, schedule.Version)
	job := must[*millrace.Submitted](t)(client.TriggerSchedule(ctx, "daily", time.Time{}))
	wants(t, "the job's schedule", job.Schedule.Name, "daily")
	wants(t, "runs", must[[]millrace.ScheduleRun](t)(client.ScheduleRuns(ctx, "daily"))[0].JobID, job.ID)
	wants(t, "pause", must[*millrace.Schedule](t)(client.PauseSchedule(ctx, "daily", "why")).Reason, "why")
	wants(t, "resume", must[*millrace.Schedule](t)(client.ResumeSchedule(ctx, "daily")).State, "active")
	must[*millrace.Schedule](t)(client.PutSchedule(ctx, "hourly", millrace.ScheduleSpec{Cron: "0 * * * *", Job: millrace.NewJob{Type: "t"}}))
	past := millrace.Backfill{From: time.Now().Add(-6 * time.Hour), To: time.Now().Add(-time.Second), Limit: 4}
	filled := must[*millrace.Backfilled](t)(client.BackfillSchedule(ctx, "hourly", past))
	wants(t, "backfill", []any{filled.Submitted, filled.More}, []any{4, true})
	seen := must[*millrace.Previewed](t)(client.PreviewSchedule(ctx, millrace.Preview{Every: time.Hour, Count: 2}))
	wants(t, "preview", len(seen.Next), 2)
	_, err := client.PreviewSchedule(ctx, millrace.Preview{Cron: "0 0 31 2 *"})
	refusedWith(t, err, millrace.ErrValidationFailed)
	set := millrace.ScheduleSet{ManagedBy: "me", Prune: true, Schedules: map[string]millrace.ScheduleSpec{
		"new": {Every: time.Minute, Job: millrace.NewJob{Type: "t"}},
	}}
	applied := must[*millrace.Applied](t)(client.ApplySchedules(ctx, set))
	wants(t, "applied", []any{applied.Created, applied.Deleted}, []any{[]string{"new"}, []string{"daily"}})
	mine := must[*millrace.Page[millrace.Schedule]](t)(client.Schedules(ctx, millrace.ScheduleFilter{ManagedBy: millrace.Ptr("me")}))
	ownerless := must[*millrace.Page[millrace.Schedule]](t)(client.Schedules(ctx, millrace.ScheduleFilter{ManagedBy: millrace.Ptr("")}))
	wants(t, "lists", []any{mine.Items[0].Name, ownerless.Items[0].Name}, []any{"new", "hourly"})
	if err := client.DeleteSchedule(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	_, err = client.Schedule(ctx, "new")
	refusedWith(t, err, millrace.ErrNotFound)
}
