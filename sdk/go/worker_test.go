package millrace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

// handler handles jobs of the type "t".
type handler = func(ctx context.Context, n int) (any, error)

var job = millrace.Define[int, any]("t", millrace.Retry(millrace.RetryPolicy{Strategy: "fixed", Base: 20 * time.Millisecond}))

// start runs a worker until the test ends. The returned function stops it and returns its error.
func start(t *testing.T, client *millrace.Client, h handler, options ...millrace.WorkerOption) (*millrace.Worker, func() error) {
	t.Helper()
	worker := client.Worker(options...)
	millrace.Handle(worker, job, h)
	return worker, runOne(t, worker)
}

func runOne(t *testing.T, worker *millrace.Worker) func() error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(context.Background()) }()
	var once sync.Once
	var err error
	stop := func() error {
		once.Do(func() {
			worker.Stop()
			select {
			case err = <-ended:
			case <-time.After(40 * time.Second):
				err = errors.New("the worker has not stopped after 40 s")
			}
		})
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Log("the worker ended with", err)
		}
	})
	return stop
}

func submit(t *testing.T, client *millrace.Client, n int, options ...millrace.JobOption) string {
	t.Helper()
	return must[*millrace.Submitted](t)(job.Submit(ctx, client, n, options...)).ID
}

func final(t *testing.T, client *millrace.Client, id string) *millrace.Job {
	t.Helper()
	return must[*millrace.Job](t)(client.Wait(ctx, id, 60*time.Second))
}

func TestEachFailedAttemptIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer // read only after the worker's end
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{
		URL: testserver.New(t).URL, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	}))
	t.Cleanup(client.Close)
	_, stop := start(t, client, func(context.Context, int) (any, error) { return nil, errors.New("no luck") })
	id := submit(t, client, 1, millrace.MaxAttempts(2))
	wants(t, "state", final(t, client, id).State, millrace.Dead)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for attempt, next := range []string{"the server tries it again", "the job is dead"} {
		line := fmt.Sprintf(`msg="millrace: an attempt failed" job=%s type=t attempt=%d max_attempts=2 `+
			`error_type=error error="no luck" next=%q`, id, attempt+1, next)
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %s in\n%s", line, out.String())
		}
	}
}

func TestTheVersionOfTheProgramIsTold(t *testing.T) {
	server := testserver.New(t)
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: server.URL}))
	t.Cleanup(client.Close)
	told := func(options ...millrace.WorkerOption) string {
		worker, stop := start(t, client, func(context.Context, int) (any, error) { return nil, nil }, options...)
		defer func() { _ = stop() }()
		for ; ; time.Sleep(10 * time.Millisecond) {
			var listed struct {
				Items []struct{ ID, Version string }
			}
			answer := must[*http.Response](t)(http.Get(server.URL + "/v1/workers"))
			err := json.NewDecoder(answer.Body).Decode(&listed)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range listed.Items {
				if each.ID == worker.ID() {
					return each.Version
				}
			}
		}
	}
	t.Setenv("MILLRACE_WORKER_VERSION", "")
	wants(t, "no version", told(), "")
	t.Setenv("MILLRACE_WORKER_VERSION", "2.4.0")
	wants(t, "the version of the environment", told(), "2.4.0")
	wants(t, "the version of the option", told(millrace.WorkerVersion("2.4.1")), "2.4.1")
}

func TestOutcomesReachTheServer(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	outcomes := map[int]handler{
		1: func(_ context.Context, n int) (any, error) { return map[string]any{"n": n, "s": "<"}, nil },
		2: func(ctx context.Context, _ int) (any, error) {
			if millrace.JobFrom(ctx).Attempt == 1 {
				return nil, errors.New("first")
			}
			return nil, nil
		},
		3: func(context.Context, int) (any, error) { return nil, millrace.NonRetryable(errors.New("never")) },
		4: func(context.Context, int) (any, error) { panic("oops") },
		5: func(context.Context, int) (any, error) { return math.NaN(), nil },
		6: func(context.Context, int) (any, error) { return strings.Repeat("x", 2<<20), nil },
		7: func(context.Context, int) (any, error) { return nil, millrace.Cancel("no need") },
		8: func(ctx context.Context, _ int) (any, error) {
			if time.Since(millrace.JobFrom(ctx).CreatedAt) < 150*time.Millisecond {
				return nil, millrace.Snooze(150 * time.Millisecond)
			}
			return "late", nil
		},
		9: func(ctx context.Context, _ int) (any, error) {
			return nil, millrace.JobFrom(ctx).Enqueue(millrace.NewJob{Type: "next", Queue: "next", Payload: 7})
		},
	}
	// Its result is nested too deeply, so the server refuses the whole request that carries it.
	outcomes[10] = func(context.Context, int) (any, error) {
		return json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("]", 100)), nil
	}
	start(t, client, func(ctx context.Context, n int) (any, error) { return outcomes[n](ctx, n) })
	ids := map[int]string{}
	for n := range outcomes {
		ids[n] = submit(t, client, n, millrace.MaxAttempts(2))
	}
	ended := map[int]*millrace.Job{}
	for n, id := range ids {
		ended[n] = final(t, client, id)
	}
	wants(t, "a result", string(ended[1].Result), `{"n":1,"s":"<"}`)
	wants(t, "the retried", []any{ended[2].State, ended[2].Attempt, ended[2].LastError.Message}, []any{"succeeded", 2, "first"})
	wants(t, "the non-retryable", []any{ended[3].State, ended[3].Attempt}, []any{"dead", 1})
	wants(t, "the panic", []any{ended[4].LastError.Type, ended[4].LastError.Message}, []any{"panic", "oops"})
	if !strings.Contains(ended[4].LastError.Stack, "worker_test.go") {
		t.Errorf("the stack is %s", ended[4].LastError.Stack)
	}
	wants(t, "no JSON", []any{ended[5].State, ended[5].LastError.Type}, []any{"dead", "outcome_refused"})
	wants(t, "too large", []any{ended[6].State, ended[6].LastError.Type}, []any{"dead", "outcome_refused"})
	wants(t, "too deep", []any{ended[10].State, ended[10].LastError.Type}, []any{"dead", "outcome_refused"})
	wants(t, "cancelled", []any{ended[7].State, must[[]millrace.LogLine](t)(client.Logs(ctx, ids[7]))[0].Message}, []any{"cancelled", "no need"})
	wants(t, "snoozed", []any{ended[8].Attempt, string(ended[8].Result)}, []any{1, `"late"`})
	wants(t, "enqueued", must[*millrace.QueueInfo](t)(client.Queue(ctx, "next")).Counts.Ready, 1)
}

func TestAHandlerSeesItsJob(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var middle []string
	seen := make(chan millrace.ClaimedJob, 2)
	worker := client.Worker()
	wrap := func(name string) millrace.Middleware {
		return func(next millrace.Handler) millrace.Handler {
			return func(ctx context.Context) (any, error) {
				middle = append(middle, name+millrace.JobFrom(ctx).Type)
				value, err := next(ctx)
				return fmt.Sprint(value, name), err
			}
		}
	}
	worker.Use(wrap("a"), wrap("b"))
	millrace.Handle(worker, job, func(ctx context.Context, n int) (any, error) {
		j := millrace.JobFrom(ctx)
		seen <- j.ClaimedJob
		if j.Attempt == 1 {
			if err := j.SaveCheckpoint([]int{n}); err != nil {
				return nil, err
			}
			j.Progress(42, "under way")
			var p *millrace.Progress
			for until := time.Now().Add(60 * time.Second); p == nil && time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
				if shown, err := client.Get(ctx, j.ID, "logs"); err == nil {
					p = shown.Progress
				}
			}
			if p == nil || p.Percent == nil || *p.Percent != 42 || *p.Message != "under way" {
				t.Errorf("the progress is %+v", p)
			}
			return nil, errors.New("again")
		}
		sub, err := client.Submit(ctx, millrace.NewJob{Type: "child"})
		if err == nil && sub.Traceparent != parent {
			t.Errorf("the child's trace is %q", sub.Traceparent)
		}
		return n, err
	})
	runOne(t, worker)
	id := submit(t, client, 5, millrace.Trace(parent, "x=y"), millrace.Meta("k", "v"), millrace.Tags("tag"))
	done := final(t, client, id)
	wants(t, "result", string(done.Result), `"5ba"`)
	wants(t, "middleware", middle, []string{"at", "bt", "at", "bt"})
	first, second := <-seen, <-seen
	wants(t, "what it sees", []any{first.Meta["k"], first.Tags, first.Traceparent, first.Tracestate, first.Attempt, first.MaxAttempts},
		[]any{"v", []string{"tag"}, parent, "x=y", 1, 5})
	wants(t, "checkpoint", []any{first.Checkpoint(), string(second.Checkpoint())}, []any{nil, "[5]"})
	if second.Lease.Token <= first.Lease.Token {
		t.Error("the token does not rise")
	}
}

func TestLinesAreKeptWithTheJob(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	slogged := slog.New(millrace.LogHandler(slog.NewTextHandler(new(strings.Builder), nil)))
	begun, release := make(chan struct{}), make(chan struct{})
	start(t, client, func(ctx context.Context, n int) (any, error) {
		slogged.InfoContext(ctx, "first")
		close(begun)
		<-release
		millrace.JobFrom(ctx).Log(slog.LevelError, "last")
		return nil, nil
	})
	id := submit(t, client, 1)
	<-begun
	waitFor(t, "a line comes while the handler runs", func() bool {
		return len(must[[]millrace.LogLine](t)(client.Logs(ctx, id))) == 1
	})
	close(release)
	final(t, client, id)
	lines := must[[]millrace.LogLine](t)(client.Logs(ctx, id))
	wants(t, "lines", []any{lines[0].Message, lines[1].Message, lines[1].Level}, []any{"first", "last", "error"})
}

func TestHandlersAreTold(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	told := make(chan error, 1)
	started := make(chan struct{}, 1)
	start(t, client, func(ctx context.Context, n int) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		told <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	id := submit(t, client, 1)
	<-started
	must[*millrace.Job](t)(client.Cancel(ctx, id, ""))
	wants(t, "state", final(t, client, id).State, millrace.Cancelled)
	wants(t, "cause", (<-told).Error(), millrace.ErrCancelled.Error())

	id = submit(t, client, 2, millrace.Timeout(5*time.Second), millrace.MaxAttempts(1))
	<-started
	wants(t, "error", final(t, client, id).LastError.Type, "timeout")
	wants(t, "cause", (<-told).Error(), millrace.ErrTimedOut.Error())
}

func TestALostLeaseIsToldAndNothingReported(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	told := make(chan error, 1)
	_, stop := start(t, client, func(ctx context.Context, n int) (any, error) {
		if millrace.JobFrom(ctx).Attempt > 1 {
			return "second", nil
		}
		way.Harm(func(r *http.Request, body []byte) testserver.Harm {
			if strings.Contains(string(body), "heartbeats") {
				return testserver.LoseRequest
			}
			return testserver.None
		})
		<-ctx.Done()
		told <- context.Cause(ctx)
		way.Harm(nil)
		return "first", nil
	}, millrace.Lease(5*time.Second))
	began := time.Now()
	id := submit(t, client, 1)
	if cause := <-told; !errors.Is(cause, millrace.ErrLeaseLost) || time.Since(began) > 30*time.Second {
		t.Errorf("it is told %v after %v", cause, time.Since(began))
	}
	wants(t, "result", string(final(t, client, id).Result), `"second"`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, seen := range way.Requests() {
		if strings.Contains(seen.Body, `"first"`) {
			t.Error("an outcome is reported after the lease was lost:", seen.Body)
		}
	}
}

func TestHeartbeatsKeepALease(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	start(t, client, func(ctx context.Context, n int) (any, error) {
		for until := time.Now().Add(7 * time.Second); time.Now().Before(until); { // blocks its thread
		}
		return nil, ctx.Err()
	}, millrace.Lease(5*time.Second))
	done := final(t, client, submit(t, client, 1))
	wants(t, "outcome", []any{done.State, done.Attempt, done.Crashes}, []any{"succeeded", 1, 0})
}

func TestLostAnswersLoseNoOutcome(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	var n atomic.Int64
	way.Harm(func(r *http.Request, body []byte) testserver.Harm {
		if !strings.Contains(string(body), `"acks"`) {
			return testserver.None
		}
		return []testserver.Harm{testserver.None, testserver.LoseAnswer, testserver.LoseRequest}[n.Add(1)%3]
	})
	var runs atomic.Int64
	start(t, client, func(_ context.Context, n int) (any, error) { runs.Add(1); return n, nil },
		millrace.Concurrency(5), millrace.Lease(5*time.Second))
	ids := map[string]int{}
	for i := 0; i < 30; i++ {
		ids[submit(t, client, i)] = i
	}
	for id, i := range ids {
		wants(t, "result", string(final(t, client, id).Result), fmt.Sprint(i))
	}
	if n := runs.Load(); n < 30 {
		t.Errorf("there were %d runs of 30 jobs", n)
	}
}

func TestAServerThatRestarts(t *testing.T) {
	t.Parallel()
	server := testserver.New(t)
	var log strings.Builder
	var mutex sync.Mutex
	logger := slog.New(slog.NewTextHandler(writer(func(p []byte) { mutex.Lock(); defer mutex.Unlock(); log.Write(p) }), nil))
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: server.URL, Logger: logger}))
	begun, release := make(chan struct{}, 2), make(chan struct{})
	_, stop := start(t, client, func(context.Context, int) (any, error) {
		begun <- struct{}{}
		<-release
		return "kept", nil
	})
	id := submit(t, client, 1)
	<-begun // the server's answer has come
	server.Kill()
	close(release)
	time.Sleep(700 * time.Millisecond)
	server.Start()
	done := final(t, client, id)
	wants(t, "outcome", []any{string(done.Result), done.Attempt}, []any{`"kept"`, 1})
	wants(t, "state", final(t, client, submit(t, client, 2)).State, millrace.Succeeded)
	if err := stop(); err != nil {
		t.Error(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	wants(t, "warnings and lines", []int{strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "the server is back")}, []int{1, 1})
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after 60 s: %s", what)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	var started, stopping atomic.Int64
	release, late := make(chan struct{}), make(chan struct{})
	worker, stop := start(t, client, func(ctx context.Context, n int) (any, error) {
		started.Add(1)
		<-millrace.JobFrom(ctx).Stopping()
		stopping.Add(1)
		switch n {
		case 1: // ends in the grace time
			return "in time", nil
		case 2: // ends when told
			<-ctx.Done()
			return nil, ctx.Err()
		}
		<-release // does not end
		defer close(late)
		return "late", nil
	}, millrace.Grace(3*time.Second))
	ids := []string{submit(t, client, 1), submit(t, client, 2), submit(t, client, 3)}
	waitFor(t, "all run", func() bool { return started.Load() == 3 })
	began := time.Now()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 4*time.Second || took > 20*time.Second {
		t.Errorf("the stop took %v", took)
	}
	wants(t, "told of the stop", stopping.Load(), 3)
	states := []millrace.JobState{}
	for _, id := range ids {
		states = append(states, must[*millrace.Job](t)(client.Get(ctx, id)).State)
	}
	wants(t, "states", states, []string{"succeeded", "ready", "ready"})
	wants(t, "attempts", must[*millrace.Job](t)(client.Get(ctx, ids[2])).Attempt, 0)
	if err := worker.Run(ctx); err == nil {
		t.Error("a worker runs twice")
	}
	close(release)
	<-late
	time.Sleep(time.Second)
	wants(t, "the late one", must[*millrace.Job](t)(client.Get(ctx, ids[2])).State, millrace.Ready)
}

func TestASecondSignalEndsTheGraceTime(t *testing.T) {
	client := newClient(t)
	started, stopping, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	worker := client.Worker(millrace.StopOnSignals(syscall.SIGUSR2))
	millrace.Handle(worker, job, func(ctx context.Context, _ int) (any, error) {
		close(started)
		<-millrace.JobFrom(ctx).Stopping()
		close(stopping)
		<-ctx.Done()
		told <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	submit(t, client, 1)
	<-started
	for i := 0; i < 2; i++ {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		<-stopping // two signals that wait together are one
	}
	select {
	case err := <-ended:
		wants(t, "the error", err, nil)
	case <-time.After(15 * time.Second):
		t.Fatal("the worker runs on")
	}
	wants(t, "cause", (<-told).Error(), millrace.ErrStopping.Error())
}

func TestRefusalsEndTheWorker(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	worker := client.Worker(millrace.Queues("not a name"))
	millrace.Handle(worker, job, func(context.Context, int) (any, error) { return nil, nil })
	refusedWith(t, worker.Run(ctx), millrace.ErrValidationFailed)
	refusing := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: clientURL(client), Token: "wrong"})).Worker()
	millrace.Handle(refusing, job, func(context.Context, int) (any, error) { return nil, nil })
	refusedWith(t, refusing.Run(ctx), millrace.ErrUnauthenticated)
	if err := client.Worker().Run(ctx); err == nil {
		t.Error("a worker without handlers runs")
	}
}

func TestTheWorkerHoldsNoMoreThanItsSlots(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	var now, most atomic.Int64
	start(t, client, func(context.Context, int) (any, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return nil, nil
	}, millrace.Concurrency(3))
	jobs := make([]millrace.NewJob, 200)
	for i := range jobs {
		jobs[i] = job.Job(i)
	}
	must[[]millrace.BatchItem](t)(client.SubmitBatch(ctx, jobs))
	waitFor(t, "all have ended", func() bool {
		counts := must[*millrace.QueueInfo](t)(client.Queue(ctx, "default")).Counts
		if counts.Running > 3 {
			t.Fatalf("the worker holds %d jobs", counts.Running)
		}
		return counts.Succeeded == 200
	})
	wants(t, "handlers at a time", most.Load(), 3)
}

func TestAnIdleWorkerHoldsOneRequest(t *testing.T) {
	client, way := newWay(t)
	start(t, client, func(context.Context, int) (any, error) { return nil, nil })
	final(t, client, submit(t, client, 1))
	// It has become idle some time later.
	var requests int
	var spent time.Duration
	for i := 0; i < 10; i++ {
		time.Sleep(200 * time.Millisecond)
		before, used := len(way.Requests()), processorTime(t)
		time.Sleep(2 * time.Second)
		requests, spent = len(way.Requests())-before, processorTime(t)-used
		if requests == 0 && spent <= 20*time.Millisecond {
			return
		}
	}
	t.Errorf("an idle worker, and the way that it uses, take %v and %d requests in 2 s", spent, requests)
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestStopWhenEmpty(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	var runs atomic.Int64
	worker := client.Worker(millrace.Queues("default", "unused"), millrace.StopWhenEmpty())
	millrace.Handle(worker, job, func(ctx context.Context, n int) (any, error) {
		runs.Add(1)
		if millrace.JobFrom(ctx).Attempt == 1 {
			return nil, millrace.RetryAfter(1500*time.Millisecond, errors.New("once more"))
		}
		return nil, nil
	})
	for i := 0; i < 3; i++ {
		submit(t, client, i)
	}
	if err := worker.Run(ctx); err != nil {
		t.Fatal(err)
	}
	wants(t, "runs", runs.Load(), 6)
}

func TestAClaimThatWaitedLongIsMadeSureOf(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	var started, beats atomic.Int64
	way.Harm(func(r *http.Request, body []byte) testserver.Harm {
		if strings.Contains(string(body), `"heartbeats"`) && beats.Add(1) <= 2 {
			time.Sleep(50 * time.Millisecond)
			if started.Load() > 0 {
				t.Error("the handler starts before a heartbeat has succeeded")
			}
			return testserver.LoseRequest
		}
		return testserver.None
	})
	start(t, client, func(context.Context, int) (any, error) { started.Add(1); return nil, nil },
		millrace.Lease(9*time.Second), millrace.PollWait(20*time.Second))
	waitFor(t, "the claim waits", func() bool { return len(way.Requests()) > 0 })
	time.Sleep(3200 * time.Millisecond) // over a third of the lease
	final(t, client, submit(t, client, 1))
	if beats.Load() < 3 {
		t.Error("no heartbeat was needed")
	}
}
