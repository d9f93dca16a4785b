package millrace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestIDsTellTheirQueueAndAreNew(t *testing.T) {
	pattern := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	var mutex sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for _, queue := range []string{"", "mail", "a/b", "ü"} {
		all.Add(1)
		go func(queue string) {
			defer all.Done()
			name := queue
			if name == "" {
				name = "default"
			}
			hash := sha256.Sum256([]byte(name))
			bits := hex.EncodeToString(hash[:])[:3]
			before := time.Now().UnixMilli()
			for i := 0; i < 20000; i++ {
				id := MakeID(queue)
				mutex.Lock()
				if seen[id] || !pattern.MatchString(id) || id[15:18] != bits {
					t.Errorf("%s of queue %q is known already, or is no id of it", id, queue)
				}
				seen[id] = true
				mutex.Unlock()
			}
			at, _ := hex.DecodeString(strings.ReplaceAll(MakeID(queue)[:13], "-", ""))
			var ms int64
			for _, b := range at {
				ms = ms<<8 | int64(b)
			}
			if ms < before || ms > time.Now().UnixMilli() {
				t.Errorf("an id tells the time %d", ms)
			}
		}(queue)
	}
	all.Wait()
}

func TestPausesAreRandomWithinABoundThatDoubles(t *testing.T) {
	for try, bound := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		bound *= time.Millisecond
		var most, least time.Duration = 0, time.Hour
		for i := 0; i < 400; i++ {
			pause := (&backoff{tries: try}).next()
			most, least = max(most, pause), min(least, pause)
		}
		if most > bound || most < bound*8/10 || least > bound/5 {
			t.Errorf("the pauses of try %d are %v to %v, and not 0 to %v", try, least, most, bound)
		}
	}
}

type orderError struct{}

func (*orderError) Error() string { return "no such order" }

func TestClassesOfErrors(t *testing.T) {
	for want, err := range map[string]error{
		"error":                errors.New("x"),
		"*millrace.orderError": fmt.Errorf("a: %w", fmt.Errorf("b: %w", &orderError{})),
		"*fs.PathError":        NonRetryable(&fs.PathError{Err: errors.New("x")}),
		"panic":                &panicError{value: &orderError{}},
	} {
		if got := classOf(err); got != want {
			t.Errorf("the class of %#v is %s, not %s", err, got, want)
		}
	}
}

func TestOutcomesOfErrors(t *testing.T) {
	plain := errors.New("boom")
	run := func(err error) Outcome {
		return RunHandler(context.Background(), ClaimedJob{}, func(context.Context) (any, error) { return nil, err })
	}
	if o := run(fmt.Errorf("outer: %w", NonRetryable(plain))); o.Kind != "failed" || o.Error.Retryable || o.Error.Message != "outer: boom" {
		t.Errorf("NonRetryable gives %+v", o)
	}
	if o := run(RetryAfter(time.Second, plain)); !o.HasDelay || o.Delay != time.Second || !o.Error.Retryable {
		t.Errorf("RetryAfter gives %+v", o)
	}
	if o := run(Snooze(time.Minute)); o.Kind != "snoozed" || o.Delay != time.Minute || o.Error != nil {
		t.Errorf("Snooze gives %+v", o)
	}
	if o := run(Cancel("why")); o.Kind != "cancelled" || o.LastLines[0] != "why" {
		t.Errorf("Cancel gives %+v", o)
	}
	if o := run(context.Canceled); o.Kind != "failed" {
		t.Errorf("a context's error of its own gives %+v", o)
	}
	if o := run(errors.New(strings.Repeat("é", 3000))); len(o.Error.Message) != 4096 {
		t.Errorf("a message of %d bytes is sent", len(o.Error.Message))
	}
	if !errors.Is(NonRetryable(plain), plain) {
		t.Error("NonRetryable hides its cause")
	}
}

func TestToldDecidesTheOutcome(t *testing.T) {
	for _, c := range []struct {
		told error
		err  error
		want string
	}{
		{ErrCancelled, context.Canceled, "cancelled"}, {ErrCancelled, nil, "succeeded"}, {ErrCancelled, errors.New("x"), "failed"},
		{ErrStopping, fmt.Errorf("x: %w", context.Canceled), "released"}, {ErrStopping, ErrStopping, "released"},
		{ErrStopping, Snooze(1), "snoozed"}, {ErrTimedOut, nil, "failed"}, {ErrTimedOut, Snooze(1), "failed"},
		{ErrLeaseLost, nil, ""}, {ErrLeaseLost, errors.New("x"), ""},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.told)
		outcome := RunHandler(ctx, ClaimedJob{}, func(ctx context.Context) (any, error) {
			if JobFrom(ctx).StopReason() != c.told {
				t.Errorf("the handler is told %v", JobFrom(ctx).StopReason())
			}
			return nil, c.err
		})
		if outcome.Kind != c.want {
			t.Errorf("told %v and with %v, the outcome is %q, not %q", c.told, c.err, outcome.Kind, c.want)
		}
	}
}

func TestPanicsFailWithTheirStack(t *testing.T) {
	outcome := RunHandler(context.Background(), ClaimedJob{}, func(context.Context) (any, error) { panic("oops") })
	if e := outcome.Error; e == nil || e.Type != "panic" || e.Message != "oops" || !strings.Contains(e.Stack, "parts_test.go") {
		t.Errorf("a panic gives %+v", outcome.Error)
	}
}

func TestWhatAHandlerSays(t *testing.T) {
	outcome := RunHandler(context.Background(), ClaimedJob{Attempt: 2}, func(ctx context.Context) (any, error) {
		job := JobFrom(ctx)
		job.Progress(150, "half")
		job.Progress(-1, "")
		if err := job.SaveCheckpoint(strings.Repeat("x", maxCheckpoint)); err == nil {
			t.Error("a checkpoint of over 60 KiB is taken")
		}
		if err := job.SaveCheckpoint([]int{1}); err != nil {
			t.Error(err)
		}
		job.Log(0, "line", "key", "a b", "n", 1)
		return nil, job.Enqueue(NewJob{Type: "next", Payload: 1})
	})
	p := outcome.Progress
	if *p.Percent != 100 || *p.Message != "half" || string(p.Checkpoint) != "[1]" {
		t.Errorf("the progress is %+v", p)
	}
	if outcome.Log[0].Message != `line key="a b" n=1` || outcome.Log[0].Level != "info" {
		t.Errorf("the log is %+v", outcome.Log)
	}
	if len(outcome.Enqueue) != 1 || outcome.Enqueue[0].ID == "" {
		t.Errorf("enqueued is %+v", outcome.Enqueue)
	}
}

func TestSlowDownGoesWithTheOutcome(t *testing.T) {
	outcome := RunHandler(context.Background(), ClaimedJob{}, func(ctx context.Context) (any, error) {
		job := JobFrom(ctx)
		if job.SlowDown(SlowDown{Limit: "api", For: time.Millisecond}) == nil {
			t.Error("a wish of 1 ms is taken")
		}
		for _, wish := range []SlowDown{
			{Limit: "api", For: time.Minute},
			{Limit: "acct", Key: "k", For: time.Second},
			{Limit: "api", For: 30 * time.Second},
		} {
			if err := job.SlowDown(wish); err != nil {
				t.Error(err)
			}
		}
		return nil, Snooze(30 * time.Second)
	})
	o := outgoing{leaseKey: leaseKey{"id", 7}, outcome: outcome}
	m := openObject(nil)
	if err := o.appendTo(&m); err != nil {
		t.Fatal(err)
	}
	sent := string(m.close())
	want := `"slow_down":[{"limit":"api","for_ms":30000},{"limit":"acct","key":"k","for_ms":1000}]`
	if outcome.Kind != "snoozed" || !strings.Contains(sent, want) {
		t.Errorf("sent is %s", sent)
	}
}

func TestGrowthGoesWithASuccess(t *testing.T) {
	member := ClaimedJob{Workflow: &WorkflowOfClaim{Role: "member"}, Traceparent: "00-a"}
	grow := func(ctx context.Context) error {
		job := JobFrom(ctx)
		payload := []int{1}
		err := job.Add("a/b", NewJob{Type: "t", Payload: payload}, NeedsAny(Ref("x"), Ref("y").Failed()))
		payload[0] = 2 // what was added stays
		return errors.Join(err, job.Skip("idle"))
	}
	sent := func(outcome Outcome) string {
		o := outgoing{leaseKey: leaseKey{"id", 7}, outcome: outcome}
		m := openObject(nil)
		if err := o.appendTo(&m); err != nil {
			t.Fatal(err)
		}
		return string(m.close())
	}
	outcome := RunHandler(context.Background(), member, func(ctx context.Context) (any, error) {
		if JobFrom(ctx).Add("", NewJob{Type: "t"}) == nil {
			t.Error("a member without a ref is taken")
		}
		return nil, grow(ctx)
	})
	const want = `"grow":{"members":[{"ref":"a/b","needs":[{"ref":"x"},{"ref":"y","on":"failed"}],"needs_any":true,` +
		`"job":{"type":"t","payload":[1],"traceparent":"00-a"}}],"skip":["idle"]}`
	if got := sent(outcome); !strings.Contains(got, want) {
		t.Errorf("sent is %s", got)
	}
	outcome = RunHandler(context.Background(), member, func(ctx context.Context) (any, error) {
		return nil, errors.Join(grow(ctx), errors.New("no"))
	})
	if got := sent(outcome); strings.Contains(got, "grow") {
		t.Errorf("a failure sends %s", got)
	}
	for _, job := range []ClaimedJob{{}, {Workflow: &WorkflowOfClaim{Role: "callback"}}} {
		outcome = RunHandler(context.Background(), job, func(ctx context.Context) (any, error) { return nil, grow(ctx) })
		if outcome.Kind != "failed" || !strings.Contains(outcome.Error.Message, "no member of a workflow") {
			t.Errorf("the outcome is %+v", outcome)
		}
	}
}

func TestOverTheBoundTheOldestLinesGo(t *testing.T) {
	c := newJobContext(context.Background(), ClaimedJob{}, nil)
	for i := 0; i < 100; i++ {
		c.Log(0, fmt.Sprint(i, strings.Repeat("x", 10_000)))
	}
	lines := c.lastLines()
	if len(lines) != maxPendingBytes/maxLineBytes || !strings.HasPrefix(lines[len(lines)-1].message, "99x") {
		t.Errorf("%d lines wait, the last is %.5s", len(lines), lines[len(lines)-1].message)
	}
	c.Log(0, "late")
	if len(c.lastLines()) != 0 {
		t.Error("a line after the end is kept")
	}
}

func TestOutbox(t *testing.T) {
	var box outbox
	now := time.Now()
	for i := 0; i < 1500; i++ {
		box.add(&outgoing{since: now, failures: i})
	}
	if due := box.due(outcomeDelay); !due.Equal(now) {
		t.Errorf("many outcomes wait for %v", due.Sub(now))
	}
	taken := box.take()
	box.giveBack(taken)
	if again := box.take(); len(again) != mostItems || again[0].failures != 0 || len(box.waiting) != 500 {
		t.Errorf("%d are taken, %d are left", len(again), len(box.waiting))
	}
	box.waiting = box.waiting[:2]
	if due := box.due(outcomeDelay); !due.Equal(now.Add(outcomeDelay)) {
		t.Errorf("few outcomes wait for %v", due.Sub(now))
	}
	box.waiting[1].outcome.Result = make([]byte, mostOutcomeBytes)
	if n := len(box.take()); n != 1 {
		t.Errorf("%d outcomes go with one of 6 MiB", n)
	}
	if n := len(box.take()); n != 1 {
		t.Errorf("the large one goes with %d", n)
	}
	box.alone = []*outgoing{{since: now.Add(time.Second)}, {since: now}}
	if o := box.takeAlone(now); o == nil || box.takeAlone(now) != nil || !box.laterDue().Equal(now.Add(time.Second)) {
		t.Error("one that goes alone does not go in its time")
	}
	box = outbox{later: []*outgoing{{since: now.Add(time.Second)}, {since: now}}}
	box.promote(now)
	if len(box.waiting) != 1 || len(box.later) != 1 || !box.laterDue().Equal(now.Add(time.Second)) {
		t.Error("one that was refused for now does not go in its time")
	}
}
