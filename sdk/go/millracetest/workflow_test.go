package millracetest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

// A step adds its number to the results of its parents; a negative one fails.
var step = millrace.Define[int, int]("step", millrace.MaxAttempts(1))

func runStep(ctx context.Context, n int) (int, error) {
	if n < 0 {
		return 0, errors.New("negative")
	}
	for ref, parent := range millrace.JobFrom(ctx).Parents {
		if parent.State != millrace.MemberSucceeded {
			continue
		}
		more, err := millrace.ParentResult[int](ctx, ref)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

func newSteps(mode millracetest.Mode) *millracetest.Fake {
	fake := millracetest.New(mode)
	millrace.Handle(fake, step, runStep)
	return fake
}

func create(t *testing.T, fake *millracetest.Fake, flow millrace.NewWorkflow) *millrace.CreatedWorkflow {
	t.Helper()
	created, err := fake.CreateWorkflow(ctx, flow)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func workflow(t *testing.T, fake *millracetest.Fake, id string) *millrace.Workflow {
	t.Helper()
	workflow, err := fake.Workflow(ctx, id, "result")
	if err != nil {
		t.Fatal(err)
	}
	return workflow
}

// states returns the states of all members by ref.
func states(t *testing.T, fake *millracetest.Fake, id string) map[string]millrace.MemberState {
	t.Helper()
	of := map[string]millrace.MemberState{}
	fake.Client().AllMembers(ctx, id, millrace.MemberFilter{PageOf: millrace.PageOf{Limit: 2}})(
		func(member *millrace.Member, err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			of[member.Ref] = member.State
			return true
		})
	return of
}

func TestAGraphRunsInTheOrderOfItsNeeds(t *testing.T) {
	for mode, attempts := range map[millracetest.Mode]int{millracetest.Drained: 4, millracetest.Inline: 0} {
		fake := newSteps(mode)
		flow := millrace.NewWorkflow{ResultFrom: "end"}
		flow.Add("end", step.Job(1), millrace.Needs(millrace.Ref("left"), millrace.Ref("right")))
		top := flow.Add("top", step.Job(10))
		flow.Add("left", step.Job(100), millrace.Needs(top))
		flow.Add("right", step.Job(1000), millrace.Needs(top))
		created := create(t, fake, flow)
		wants(t, "the state at first", created.State, "running")
		wants(t, "attempts", fake.Drain(ctx), attempts)
		ended, err := fake.WaitWorkflow(ctx, created.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "the end", []any{ended.State, string(ended.Result), ended.Counts.Succeeded}, []any{"succeeded", "1121", 4})
	}
}

func TestFailuresAreCaughtOrSkipWhatNeedsThem(t *testing.T) {
	fake := newSteps(millracetest.Drained)
	flow := millrace.NewWorkflow{}
	card := flow.Add("card", step.Job(-1))
	thanks := flow.Add("thanks", step.Job(1), millrace.Needs(card))
	flow.Add("more", step.Job(1), millrace.Needs(thanks))
	invoice := flow.Add("invoice", step.Job(1), millrace.Needs(card.Failed()))
	flow.Add("ship", step.Job(1), millrace.NeedsAny(card, invoice))
	flow.Add("last", step.Job(1), millrace.Needs(thanks.Ended()))
	created := create(t, fake, flow)
	fake.Drain(ctx)
	wants(t, "the members", states(t, fake, created.ID), map[string]string{
		"card": "failed", "thanks": "skipped", "more": "skipped", "invoice": "succeeded", "ship": "succeeded", "last": "succeeded",
	})
	wants(t, "the end", workflow(t, fake, created.ID).State, "succeeded")
}

func TestPoliciesAndCallbacks(t *testing.T) {
	for policy, want := range map[string][]any{
		"continue": {"failed", "member_failed", "succeeded", "on_failure"},
		"stop":     {"failed", "member_failed", "failed", "on_failure"},
		"ignore":   {"succeeded", "", "succeeded", "on_success"},
	} {
		fake := newSteps(millracetest.Drained)
		told := []any{}
		fake.Register("tell", func(ctx context.Context) (any, error) {
			flow := millrace.JobFrom(ctx).Workflow
			told = append(told, string(millrace.JobFrom(ctx).Payload), flow.State, flow.Failed)
			return nil, nil
		})
		tell := func(what string) *millrace.NewJob { return &millrace.NewJob{Type: "tell", Payload: what} }
		flow := millrace.NewWorkflow{OnMemberFailed: policy}
		flow.OnSuccess, flow.OnFailure, flow.OnEnd = tell("on_success"), tell("on_failure"), tell("on_end")
		flow.Add("", step.Job(-1))
		flow.Add("later", step.Job(1, millrace.Delay(time.Minute)))
		created := create(t, fake, flow)
		fake.Drain(ctx)
		fake.Advance(time.Minute)
		fake.Drain(ctx)
		ended := workflow(t, fake, created.ID)
		got := []any{ended.State, ended.Reason, states(t, fake, created.ID)["later"], want[3]}
		wants(t, policy, got, want)
		failed := "[@0]"
		if policy == "stop" {
			failed = "[@0 later]"
		}
		expected := fmt.Sprintf(`["%s" %s %s "on_end" %s %s]`, want[3], want[0], failed, want[0], failed)
		wants(t, "what is told with "+policy, told, expected)
	}
}

func TestOpenWorkflowsGrowUntilTheyAreClosed(t *testing.T) {
	fake := newSteps(millracetest.Drained)
	client := fake.Client()
	flow := millrace.NewWorkflow{Open: true, MaxActive: 1, Defaults: &millrace.NewJob{Priority: 7, MaxAttempts: 2}}
	flow.OnEnd = &millrace.NewJob{Type: "end"}
	created, err := client.CreateWorkflow(ctx, flow)
	if err != nil {
		t.Fatal(err)
	}
	more := millrace.NewMembers{IdempotencyKey: "k"}
	more.Add("a/b", step.Job(1))
	more.Add("", step.Job(1))
	for _, want := range []millrace.AddedMembers{{Added: 2, Members: 2}, {Existing: 2, Members: 2}} {
		added, err := client.AddMembers(ctx, created.ID, more)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "added", *added, want)
	}
	wants(t, "active ones", workflow(t, fake, created.ID).Counts.Active, 1)
	fake.Drain(ctx)
	if _, err := client.WaitWorkflow(ctx, created.ID, time.Minute); !errors.Is(err, millrace.ErrWaitTimeout) {
		t.Errorf("the error is %v", err)
	}
	if _, err := client.CloseWorkflow(ctx, created.ID); err != nil {
		t.Fatal(err)
	}
	ended := workflow(t, fake, created.ID)
	wants(t, "the state", ended.State, "succeeded")
	// The defaults hold for what is created, not for what is added.
	wants(t, "of the callback", get(t, fake, ended.Callbacks.OnEnd).Priority, 7)
	wants(t, "of the first member", fake.Enqueued("step")[0].Priority, 0)
	if _, err := client.AddMembers(ctx, created.ID, more); err != nil {
		t.Errorf("a repetition is refused: %v", err)
	}
	more.IdempotencyKey = "other"
	if _, err := client.AddMembers(ctx, created.ID, more); !errors.Is(err, millrace.ErrInvalidState) {
		t.Errorf("the error is %v", err)
	}
	if _, err := client.RetryWorkflow(ctx, created.ID); err == nil || err.(*millrace.Error).Code != "not_in_fake" {
		t.Errorf("the error of a retry is %v", err)
	}
}

func TestCancelAndSkip(t *testing.T) {
	fake := newSteps(millracetest.Drained)
	client := fake.Client()
	flow := millrace.NewWorkflow{Unique: &millrace.WorkflowUnique{Key: "order", OnConflict: "reject"}}
	reserved := flow.Add("reserve", step.Job(1))
	flow.Add("pay", step.Job(1), millrace.Needs(reserved))
	flow.Add("ship", step.Job(1), millrace.Needs(millrace.Ref("pay")))
	first := create(t, fake, flow)
	if _, err := client.CreateWorkflow(ctx, flow); !errors.Is(err, millrace.ErrDuplicateWorkflow) {
		t.Errorf("the error is %v", err)
	}
	stopping, err := client.CancelWorkflow(ctx, first.ID, "withdrawn")
	if err != nil || stopping.State != millrace.WorkflowStopping {
		t.Errorf("the answer is %+v, %v", stopping, err)
	}
	ended := workflow(t, fake, first.ID)
	wants(t, "the end", []any{ended.State, ended.CancelReason, ended.Counts.Failed, ended.Counts.Skipped}, []any{"cancelled", "withdrawn", 1, 2})

	second := create(t, fake, flow)
	if _, err := client.SkipMember(ctx, second.ID, "pay"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SkipMember(ctx, second.ID, "reserve"); !errors.Is(err, millrace.ErrInvalidState) {
		t.Errorf("the error is %v", err)
	}
	fake.Drain(ctx)
	wants(t, "the members", states(t, fake, second.ID), map[string]string{"reserve": "succeeded", "pay": "skipped", "ship": "skipped"})
	if job, err := client.WorkflowMember(ctx, second.ID, "reserve"); err != nil {
		t.Error(err)
	} else if _, err := client.Retry(ctx, job.JobID); !errors.Is(err, millrace.ErrInvalidState) {
		t.Errorf("the error of a retry of a member's job is %v", err)
	}
}

func TestHandlersGrowTheirWorkflow(t *testing.T) {
	fake := newSteps(millracetest.Drained)
	fake.Register("plan", func(ctx context.Context) (any, error) {
		job := millrace.JobFrom(ctx)
		var sum []millrace.Needed
		for n := 1; n <= 3; n++ {
			ref := "part-" + strconv.Itoa(n)
			if err := job.Add(ref, step.Job(n)); err != nil {
				return nil, err
			}
			sum = append(sum, millrace.Ref(ref))
		}
		if job.Attempt == 1 {
			return nil, errors.New("too early")
		}
		if err := job.Add("sum", step.Job(0), millrace.Needs(sum...)); err != nil {
			return nil, err
		}
		return nil, job.Skip("fallback")
	})
	flow := millrace.NewWorkflow{}
	plan := flow.Add("plan", millrace.NewJob{Type: "plan"})
	flow.Add("fallback", step.Job(1), millrace.Needs(plan))
	created := create(t, fake, flow)
	wants(t, "attempts", fake.Drain(ctx), 1)
	wants(t, "members after a failure", workflow(t, fake, created.ID).Members, 2)
	fake.Advance(time.Hour)
	fake.Drain(ctx)
	ended := workflow(t, fake, created.ID)
	wants(t, "the end", []any{ended.State, ended.Members, ended.Counts.Skipped}, []any{"succeeded", 6, 1})
	sum, err := fake.WorkflowMember(ctx, created.ID, "sum", millrace.GetMember{Include: []string{"result"}})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, "the sum", string(sum.Result), "6")

	// What can't be refuses the outcome; outside of a workflow it is an error at once.
	fake.Register("plan", func(ctx context.Context) (any, error) {
		return nil, millrace.JobFrom(ctx).Add("x", step.Job(1), millrace.Needs(millrace.Ref("nobody")))
	})
	flow = millrace.NewWorkflow{Defaults: &millrace.NewJob{MaxAttempts: 1}}
	flow.Add("plan", millrace.NewJob{Type: "plan"})
	created = create(t, fake, flow)
	fake.Drain(ctx)
	wants(t, "the end", workflow(t, fake, created.ID).State, "failed")
	job, err := fake.Submit(ctx, millrace.NewJob{Type: "plan", MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	fake.Drain(ctx)
	wants(t, "a job of no workflow", get(t, fake, job.ID).LastError.Message, "millrace: the job is no member of a workflow, so it can't change one")
}

func TestFaultyGraphsAreRefused(t *testing.T) {
	fake := newSteps(millracetest.Drained)
	ring := millrace.NewWorkflow{}
	ring.Add("a", step.Job(1), millrace.Needs(millrace.Ref("b")))
	ring.Add("b", step.Job(1), millrace.Needs(millrace.Ref("a")))
	twice := millrace.NewWorkflow{}
	twice.Add("a", step.Job(1))
	twice.Add("a", step.Job(1, millrace.ID(millrace.MakeID(""))))
	for where, flow := range map[string]millrace.NewWorkflow{
		"/members/0":        ring,
		"/members/1":        twice,
		"/members/0/ref":    {Members: []millrace.NewMember{{Ref: "a b", Job: step.Job(1)}}},
		"/members/0/job/id": {Members: []millrace.NewMember{{Job: step.Job(1, millrace.ID(millrace.MakeID("")))}}},
		"/result_from":      {ResultFrom: "nobody"},
		"/on_end/type":      {OnEnd: &millrace.NewJob{}},
	} {
		_, err := fake.CreateWorkflow(ctx, flow)
		var e *millrace.Error
		if !errors.Is(err, millrace.ErrValidationFailed) || !errors.As(err, &e) || e.Errors[0].Where != where {
			t.Errorf("the error is %v, not one at %s", err, where)
		}
	}
	if _, err := fake.CreateWorkflow(ctx, millrace.NewWorkflow{Timeout: time.Hour}); err == nil || err.(*millrace.Error).Code != "not_in_fake" {
		t.Errorf("the error of a timeout is %v", err)
	}
	page, _ := fake.Workflows(ctx, millrace.WorkflowFilter{})
	wants(t, "the workflows", len(page.Items), 0)
}
