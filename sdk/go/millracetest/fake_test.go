package millracetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

var ctx = context.Background()

type order struct{ N int }

var ship = millrace.Define[order, any]("ship", millrace.Retry(millrace.RetryPolicy{Strategy: "exponential", Base: time.Second}))

func newFake(mode millracetest.Mode, handler func(ctx context.Context, o order) (any, error)) *millracetest.Fake {
	fake := millracetest.New(mode)
	millrace.Handle(fake, ship, handler)
	return fake
}

func submit(t *testing.T, fake *millracetest.Fake, n int, options ...millrace.JobOption) string {
	t.Helper()
	job, err := ship.Submit(ctx, fake, order{n}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return job.ID
}

func get(t *testing.T, fake *millracetest.Fake, id string) *millrace.Job {
	t.Helper()
	job, err := fake.Get(ctx, id, "payload", "result", "attempts", "logs")
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func wants(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

func TestRetriesBackOffUntilTheJobIsDead(t *testing.T) {
	fake := newFake(millracetest.Drained, func(context.Context, order) (any, error) { return nil, errors.New("boom") })
	id := submit(t, fake, 1, millrace.MaxAttempts(3))
	for attempt, pause := range []time.Duration{time.Second, 2 * time.Second} {
		wants(t, "attempts", fake.Drain(ctx), 1)
		wants(t, "state", get(t, fake, id).State, millrace.Retrying)
		fake.Advance(pause - time.Millisecond)
		wants(t, "attempts before the time", fake.Drain(ctx), 0)
		fake.Advance(time.Millisecond)
		wants(t, "attempt", get(t, fake, id).Attempt, attempt+1)
	}
	wants(t, "attempts", fake.Drain(ctx), 1)
	job := get(t, fake, id)
	wants(t, "the end", []any{job.State, job.LastError.Message, len(job.Attempts)}, []any{"dead", "boom", 3})
	wants(t, "the clock", fake.Now(), time.Date(2030, 1, 1, 0, 0, 3, 0, time.UTC))
	if _, err := fake.Retry(ctx, id); err != nil {
		t.Fatal(err)
	}
	wants(t, "attempts after a retry", fake.Drain(ctx), 1)
}

func TestInlineRunsWithinTheSubmission(t *testing.T) {
	var fake *millracetest.Fake
	ran := []int{}
	fake = newFake(millracetest.Inline, func(ctx context.Context, o order) (any, error) {
		ran = append(ran, o.N)
		if o.N == 1 {
			if err := millrace.JobFrom(ctx).Enqueue(ship.Job(order{3})); err != nil {
				return nil, err
			}
			_, err := ship.Submit(ctx, fake, order{2})
			return "done", err
		}
		return nil, nil
	})
	id := submit(t, fake, 1)
	wants(t, "what ran", ran, []int{1, 2, 3})
	wants(t, "result", string(get(t, fake, id).Result), `"done"`)
	submit(t, fake, 4, millrace.Delay(time.Minute))
	fake.Advance(time.Minute)
	wants(t, "attempts", fake.Drain(ctx), 1)
	wants(t, "payloads", millracetest.Payloads(fake, ship), []order{{1}, {2}, {3}, {4}})
}

func TestDrainGoesByPriorityAndAge(t *testing.T) {
	ran := []int{}
	fake := newFake(millracetest.Drained, func(_ context.Context, o order) (any, error) {
		ran = append(ran, o.N)
		return nil, nil
	})
	submit(t, fake, 1)
	submit(t, fake, 2, millrace.Priority(5))
	submit(t, fake, 3, millrace.Priority(-5))
	submit(t, fake, 4)
	if _, err := fake.Submit(ctx, millrace.NewJob{Type: "without.handler"}); err != nil {
		t.Fatal(err)
	}
	wants(t, "attempts", fake.Drain(ctx), 4)
	wants(t, "the order", ran, []int{3, 1, 4, 2})
}

func TestOutcomes(t *testing.T) {
	outcomes := []error{
		nil, millrace.NonRetryable(errors.New("never")), millrace.Snooze(time.Hour), millrace.Cancel("no need"),
		millrace.RetryAfter(time.Minute, errors.New("later")),
	}
	fake := newFake(millracetest.Drained, func(ctx context.Context, o order) (any, error) { return o.N, outcomes[o.N] })
	ids := []string{}
	for n := range outcomes {
		ids = append(ids, submit(t, fake, n))
	}
	wants(t, "attempts", fake.Drain(ctx), len(outcomes))
	states := []any{}
	for _, id := range ids {
		job := get(t, fake, id)
		states = append(states, job.State, job.Attempt, job.RunAt.Sub(job.CreatedAt))
	}
	wants(t, "the jobs", states, []any{"succeeded", 1, "0s", "dead", 1, "0s", "scheduled", 0, "1h0m0s", "cancelled", 1, "0s", "retrying", 1, "1m0s"})
	wants(t, "the log", get(t, fake, ids[3]).Logs[0].Message, "no need")
}

func TestTheFakeRefusesAsTheServer(t *testing.T) {
	fake := millracetest.New(millracetest.Drained)
	refused := func(what string, kind error, job millrace.NewJob) {
		t.Helper()
		if _, err := fake.Submit(ctx, job); !errors.Is(err, kind) {
			t.Errorf("%s: %v, not %v", what, err, kind)
		}
	}
	refused("no type", millrace.ErrValidationFailed, millrace.NewJob{})
	id := millrace.MakeID("q")
	first, err := fake.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q", ID: id, Payload: 1})
	if err != nil {
		t.Fatal(err)
	}
	again, err := fake.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q", ID: id, Payload: 1})
	wants(t, "the same again", []any{first.IsNew, again.IsNew, err}, []any{true, false, nil})
	refused("another content", millrace.ErrIDMismatch, millrace.NewJob{Type: "t", Queue: "q", ID: id, Payload: 2})
	refused("another queue", millrace.ErrDuplicateJob, millrace.NewJob{Type: "t", ID: id, Payload: 1})
	keyed := millrace.NewJob{Type: "t", IdempotencyKey: "k"}
	one, _ := fake.Submit(ctx, keyed)
	two, _ := fake.Submit(ctx, keyed)
	wants(t, "the keyed job", two.ID, one.ID)
	keyed.Payload = 1
	var e *millrace.Error
	if _, err := fake.Submit(ctx, keyed); !errors.As(err, &e) || e.Code != "idempotency_mismatch" {
		t.Errorf("another body: %v", err)
	}
	unique := millrace.NewJob{Type: "u", Unique: &millrace.UniqueKey{Key: "k"}}
	holder, _ := fake.Submit(ctx, unique)
	other, _ := fake.Submit(ctx, unique)
	wants(t, "the holder", []any{other.ID, other.IsNew}, []any{holder.ID, false})
	unique.Unique = &millrace.UniqueKey{Key: "k", OnConflict: "reject"}
	refused("a second one", millrace.ErrDuplicateJob, unique)
	unique.Unique = &millrace.UniqueKey{Key: "k", OnConflict: "replace"}
	if next, err := fake.Submit(ctx, unique); err != nil || !next.IsNew || get(t, fake, holder.ID).State != millrace.Cancelled {
		t.Errorf("a replacement: %v", err)
	}
	before := len(fake.Enqueued(""))
	if _, err := fake.SubmitBatch(ctx, []millrace.NewJob{{Type: "a"}, {}}, millrace.Atomic()); !errors.As(err, &e) || e.Errors[0].Where != "/jobs/1/type" {
		t.Errorf("an atomic batch: %v", err)
	}
	wants(t, "what it left", len(fake.Enqueued("")), before)
	items, err := fake.SubmitBatch(ctx, []millrace.NewJob{{Type: "a"}, {}})
	wants(t, "a batch", []any{items[0].Status, items[1].Status, err}, []any{201, 422, nil})
	if _, err := fake.Get(ctx, millrace.MakeID("")); !errors.Is(err, millrace.ErrNotFound) {
		t.Errorf("an unknown job: %v", err)
	}
}

func TestCancellationAndExpiry(t *testing.T) {
	var fake *millracetest.Fake
	fake = newFake(millracetest.Drained, func(ctx context.Context, _ order) (any, error) {
		if _, err := fake.Cancel(ctx, millrace.JobFrom(ctx).ID, "from elsewhere"); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	running, waiting := submit(t, fake, 1), submit(t, fake, 2, millrace.Delay(time.Hour))
	expiring := submit(t, fake, 3, millrace.Delay(time.Hour), millrace.ExpiresIn(time.Minute))
	fake.Drain(ctx)
	if _, err := fake.Cancel(ctx, waiting, ""); err != nil {
		t.Fatal(err)
	}
	fake.Advance(time.Minute)
	if job, err := fake.Wait(ctx, running, time.Second); err != nil || string(job.Payload) != `{"N":1}` {
		t.Errorf("waiting for one that has ended: %v, %v", job, err)
	}
	if _, err := fake.Wait(ctx, submit(t, fake, 4), time.Second); !errors.Is(err, millrace.ErrWaitTimeout) {
		t.Errorf("waiting for one that waits: %v", err)
	}
	states := []millrace.JobState{get(t, fake, running).State, get(t, fake, waiting).State, get(t, fake, expiring).State}
	wants(t, "states", states, []string{"cancelled", "cancelled", "expired"})
	if _, err := fake.Cancel(ctx, running, ""); !errors.Is(err, millrace.ErrInvalidState) {
		t.Errorf("a second cancellation: %v", err)
	}
}

func TestListsAndCheckpoints(t *testing.T) {
	fake := newFake(millracetest.Drained, func(ctx context.Context, o order) (any, error) {
		job := millrace.JobFrom(ctx)
		if job.Attempt == 1 {
			return nil, errors.Join(job.SaveCheckpoint(o.N), errors.New("again"))
		}
		return job.Checkpoint(), nil
	})
	for n := 0; n < 5; n++ {
		submit(t, fake, n, millrace.Tags("x"))
	}
	fake.Drain(ctx)
	fake.Advance(time.Hour)
	fake.Drain(ctx)
	filter := millrace.JobFilter{States: []millrace.JobState{millrace.Succeeded}, Tag: "x", Limit: 2, Include: []string{"result"}}
	var results []string
	for {
		page, err := fake.List(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Items {
			results = append(results, string(job.Result))
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	wants(t, "the results, newest first", results, []string{"4", "3", "2", "1", "0"})
}

func TestWhatAnApplicationDeclaresAtItsStartIsKept(t *testing.T) {
	fake := millracetest.New(millracetest.Drained)
	settings := millrace.QueueSettings{
		MaxAttempts: 3, Lease: 5 * time.Second, MaxReady: millrace.Ptr(1),
		Retry: &millrace.RetryPolicy{Strategy: "fixed", Base: time.Second},
	}
	if _, err := fake.PutQueue(ctx, "q", settings); err != nil {
		t.Fatal(err)
	}
	submitted, err := fake.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q", FairKey: "f"})
	if err != nil || submitted.MaxAttempts != 3 || submitted.Lease != 5*time.Second ||
		submitted.Retry.Base != time.Second || submitted.FairKey != "f" {
		t.Errorf("the job is %+v, %v", submitted, err)
	}
	if _, err := fake.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q"}); !errors.Is(err, millrace.ErrQueueFull) {
		t.Error("a second ready job:", err)
	}
	if _, err := fake.PutLimit(ctx, "api", millrace.LimitSettings{Concurrency: millrace.Ptr(2)}); err != nil {
		t.Fatal(err)
	}
	if limit, err := fake.Limit(ctx, "api"); err != nil || limit.Concurrency != 2 {
		t.Errorf("the limit is %+v, %v", limit, err)
	}
	tick := millrace.ScheduleSpec{Every: time.Minute, Job: millrace.NewJob{Type: "tick", Payload: 7}}
	set := millrace.ScheduleSet{ManagedBy: "me", Prune: true, Schedules: map[string]millrace.ScheduleSpec{"a": tick, "b": tick}}
	for _, want := range []string{"&{[a b] [] [] []}", "&{[] [] [a b] []}"} {
		if applied, err := fake.ApplySchedules(ctx, set); err != nil || fmt.Sprint(applied) != want {
			t.Errorf("applied %v, %v, not %s", applied, err, want)
		}
	}
	delete(set.Schedules, "b")
	if applied, _ := fake.ApplySchedules(ctx, set); fmt.Sprint(applied.Deleted) != "[b]" {
		t.Errorf("deleted %v", applied.Deleted)
	}
	if _, err := fake.TriggerSchedule(ctx, "a", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if jobs := fake.Enqueued("tick"); len(jobs) != 1 || string(jobs[0].Payload) != "7" {
		t.Errorf("the schedule made %v", jobs)
	}
	if _, err := fake.TriggerSchedule(ctx, "b", time.Time{}); !errors.Is(err, millrace.ErrNotFound) {
		t.Error("a schedule that was deleted:", err)
	}
}

// setUp is a program's own, which takes a client.
func setUp(client *millrace.Client) error {
	settings := millrace.LimitSettings{Concurrency: millrace.Ptr(3)}
	if _, err := client.PutLimit(ctx, "provider", settings); err != nil {
		return err
	}
	_, err := client.ApplySchedules(ctx, millrace.ScheduleSet{
		ManagedBy: "shop",
		Schedules: map[string]millrace.ScheduleSpec{"digest": {Cron: "0 9 * * MON", Job: millrace.NewJob{Type: "t"}}},
	})
	return err
}

func TestAClientOfTheFakeIsOneLikeAnyOther(t *testing.T) {
	fake := millracetest.New(millracetest.Drained)
	fake.Register("t", func(context.Context) (any, error) { return 7, nil })
	client := fake.Client()
	limited := millrace.NewJob{Type: "t", Limits: []millrace.JobLimit{{Name: "provider"}}}
	var e *millrace.Error
	if _, err := client.Submit(ctx, limited); !errors.As(err, &e) || e.Code != "unknown_limit" {
		t.Fatal("a limit that does not exist gives", err)
	}
	if err := setUp(client); err != nil {
		t.Fatal(err)
	}
	job, err := client.Submit(ctx, limited)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.TriggerSchedule(ctx, "digest", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wait(ctx, job.ID, time.Minute); !errors.Is(err, millrace.ErrWaitTimeout) {
		t.Fatal("waiting for a job that nothing runs gives", err)
	}
	if ran := fake.Drain(ctx); ran != 2 {
		t.Fatal(ran, "attempts ran")
	}
	ended, err := client.Wait(ctx, job.ID, time.Minute)
	if err != nil || ended.State != millrace.Succeeded || string(ended.Result) != "7" {
		t.Fatal(ended, err)
	}
	if _, err := client.Stats(ctx, millrace.StatsOf{}); !errors.As(err, &e) || e.Code != "not_in_fake" {
		t.Fatal("a call that the fake does not know gives", err)
	}
	worker := client.Worker()
	worker.Register("t", func(context.Context) (any, error) { return nil, nil })
	if err := worker.Run(ctx); !errors.As(err, &e) || e.Code != "not_in_fake" {
		t.Fatal("a worker of the fake ends with", err)
	}
}
