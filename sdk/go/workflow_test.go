package millrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

type loaded struct{ Rows int }

var (
	load    = millrace.Define[string, loaded]("sales.load", millrace.MaxAttempts(1))
	publish = millrace.Define[string, string]("sales.publish", millrace.MaxAttempts(1))
	pageMe  = millrace.Define[string, any]("page.me")
)

// nightly returns a workflow in which `publish` needs `load`.
func nightly() millrace.NewWorkflow {
	flow := millrace.NewWorkflow{Name: "nightly", Queue: "sales", ResultFrom: "publish"}
	first := flow.Add("load", load.Job("today"))
	flow.Add("publish", publish.Job("report"), millrace.Needs(first))
	flow.OnFailure = millrace.Ptr(pageMe.Job("oh"))
	return flow
}

// work runs the jobs of the queues with these handlers until none is left.
func work(t *testing.T, client *millrace.Client, register func(*millrace.Worker), queues ...string) {
	t.Helper()
	worker := client.Worker(millrace.Queues(queues...), millrace.StopWhenEmpty())
	register(worker)
	if err := worker.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAResultGoesToThoseThatNeedIt(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	created := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, nightly()))
	wants(t, "created", []any{created.IsNew, created.State, created.Members}, []any{true, "running", 2})
	work(t, client, func(worker *millrace.Worker) {
		millrace.Handle(worker, load, func(context.Context, string) (loaded, error) { return loaded{3}, nil })
		millrace.Handle(worker, publish, func(ctx context.Context, what string) (string, error) {
			rows, err := millrace.ParentResult[loaded](ctx, "load")
			flow := millrace.JobFrom(ctx).Workflow
			return fmt.Sprintf("%s of %d rows, %s %s", what, rows.Rows, flow.Name, flow.Ref), err
		})
	}, "sales")
	ended := must[*millrace.Workflow](t)(client.WaitWorkflow(ctx, created.ID, time.Minute))
	wants(t, "the end", []any{ended.State, ended.Result}, []any{"succeeded", "report of 3 rows, nightly publish"})
	_, err := client.WaitWorkflow(ctx, millrace.MakeID(""), time.Second)
	refusedWith(t, err, millrace.ErrNotFound)
}

func TestAFailureIsTold(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	created := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, nightly()))
	var told *millrace.WorkflowOfClaim
	works := false
	register := func(worker *millrace.Worker) {
		millrace.Handle(worker, load, func(context.Context, string) (loaded, error) {
			if works {
				return loaded{1}, nil
			}
			return loaded{}, errors.New("no such column")
		})
		millrace.Handle(worker, publish, func(context.Context, string) (string, error) { return "", nil })
		millrace.Handle(worker, pageMe, func(ctx context.Context, _ string) (any, error) {
			told = millrace.JobFrom(ctx).Workflow
			return nil, nil
		})
	}
	work(t, client, register, "sales")
	failed := must[*millrace.Workflow](t)(client.WaitWorkflow(ctx, created.ID, time.Minute))
	wants(t, "the end", []any{failed.State, failed.Reason}, []any{"failed", "member_failed"})
	if told == nil {
		t.Fatal("nobody is told")
	}
	wants(t, "what is told", []any{told.Role, told.State, told.Failed, told.Counts.Skipped}, []any{"callback", "failed", []string{"load"}, 1})

	works = true
	again := must[*millrace.Workflow](t)(client.RetryWorkflow(ctx, created.ID, millrace.RetryWorkflow{Refs: []string{"load"}}))
	wants(t, "again", []any{again.State, again.Generation}, []any{"running", 2})
	work(t, client, register, "sales")
	wants(t, "the state", must[*millrace.Workflow](t)(client.WaitWorkflow(ctx, created.ID, time.Minute)).State, "succeeded")
	if err := client.DeleteWorkflow(ctx, created.ID); err != nil {
		t.Fatal(err)
	}
	_, err := client.Workflow(ctx, created.ID)
	refusedWith(t, err, millrace.ErrNotFound)
}

func TestNeedsOnAnyEnd(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	flow := millrace.NewWorkflow{Defaults: &millrace.NewJob{MaxAttempts: 1, Type: "t"}, MaxActive: 1}
	card := flow.Add("card/1", millrace.NewJob{})
	flow.Add("", millrace.NewJob{}, millrace.Needs(card.Failed()))
	flow.Add("ship", millrace.NewJob{}, millrace.NeedsAny(card, millrace.Need{Ref: "audit", On: "ended"}))
	flow.Add("audit", millrace.NewJob{}, millrace.Needs(card.Ended()))
	created := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	needs := map[string][]millrace.Need{}
	client.AllGraphLines(ctx, created.ID)(func(line *millrace.GraphLine, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		needs[line.Ref] = line.Needs
		return true
	})
	wants(t, "the needs", needs, map[string][]millrace.Need{
		"card/1": {}, "": {{Ref: "card/1", On: "failed"}}, "audit": {{Ref: "card/1", On: "ended"}},
		"ship": {{Ref: "card/1", On: "succeeded"}, {Ref: "audit", On: "ended"}},
	})
	one := must[*millrace.MemberDetail](t)(client.WorkflowMember(ctx, created.ID, "card/1", millrace.GetMember{Include: []string{"job"}}))
	wants(t, "one", []any{one.State, one.Job.State, one.Definition.MaxAttempts}, []any{"active", "ready", 1})
	ship := must[*millrace.MemberDetail](t)(client.WorkflowMember(ctx, created.ID, "ship", millrace.GetMember{Wait: time.Millisecond}))
	wants(t, "any", []bool{ship.NeedsAny, len(ship.WaitsFor) == 2}, []bool{true, true})
	why := must[*millrace.WorkflowWhy](t)(client.WhyWorkflow(ctx, created.ID))
	wants(t, "why", why.Blocking[0].Code, "active")
	_, err := client.WaitWorkflow(ctx, created.ID, time.Millisecond)
	refusedWith(t, err, millrace.ErrWaitTimeout)
}

func TestWorkflowsHaveTheAPIsForm(t *testing.T) {
	t.Parallel()
	server := testserver.New(t)
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: server.URL}))
	flow := nightly()
	flow.Tags, flow.Meta, flow.Timeout, flow.MaxActive = []string{"a"}, map[string]string{"k": "v"}, time.Hour, 7
	flow.Unique, flow.KeepMembers, flow.OnMemberFailed = &millrace.WorkflowUnique{Key: "k"}, millrace.Ptr(false), "stop"
	flow.Members[0].Job.Payload = json.RawMessage(`{"n":  1}`)
	full := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	wants(t, "the settings", []any{full.Timeout, full.MaxActive, full.KeepMembers, full.OnMemberFailed}, []any{time.Hour, 7, false, "stop"})
	job := must[*millrace.MemberDetail](t)(client.WorkflowMember(ctx, full.ID, "load"))
	wants(t, "the payload", string(must[*millrace.Job](t)(client.Get(ctx, job.JobID, "payload")).Payload), `{"n":  1}`)
	plain := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, millrace.NewWorkflow{Open: true}))
	must[*millrace.Workflow](t)(client.CancelWorkflow(ctx, full.ID, "enough"))
	for path, value := range map[string]any{
		full.ID:                                   new(millrace.Workflow),
		full.ID + "?include=result":               new(millrace.Workflow),
		full.ID + "/members?include=job,result":   new(millrace.Page[millrace.Member]),
		full.ID + "/members/load?include=job":     new(millrace.MemberDetail),
		full.ID + "/members/publish":              new(millrace.MemberDetail),
		full.ID + "/graph":                        new(millrace.Page[millrace.GraphLine]),
		plain.ID:                                  new(millrace.Workflow),
		plain.ID + "/members?include=job&limit=3": new(millrace.Page[millrace.Member]),
	} {
		hasTheAPIsForm(t, server.URL, "/v1/workflows/"+path, value)
	}
	hasTheAPIsForm(t, server.URL, "/v1/workflows?fresh=true&limit=1", new(millrace.Page[millrace.Workflow]))
	const parent = `{"id":"p","state":"succeeded","reason":null,"result":3}`
	wants(t, "a parent", json.RawMessage(must[[]byte](t)(json.Marshal(must[millrace.Parent](t)(reread(parent))))), json.RawMessage(parent))
}

func reread(text string) (parent millrace.Parent, err error) {
	return parent, json.Unmarshal([]byte(text), &parent)
}

func TestWorkflowsAreListed(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	var ids []string
	for i := 0; i < 5; i++ {
		flow := millrace.NewWorkflow{Name: "w", Queue: "q", Tags: []string{fmt.Sprint("t", i)}}
		for k := 0; k < i; k++ {
			flow.Add("", millrace.NewJob{Type: "t"})
		}
		ids = append([]string{must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow)).ID}, ids...)
	}
	filter := millrace.WorkflowFilter{Name: "w", Queue: "q", Fresh: true, PageOf: millrace.PageOf{Limit: 2}}
	var listed []string
	client.AllWorkflows(ctx, filter)(func(workflow *millrace.Workflow, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, workflow.ID)
		return true
	})
	wants(t, "the list", listed, ids)
	filter.States, filter.Tag = []millrace.WorkflowState{millrace.WorkflowRunning}, "t3"
	page := must[*millrace.Page[millrace.Workflow]](t)(client.Workflows(ctx, filter))
	wants(t, "the filtered one", []any{len(page.Items), page.Items[0].ID}, []any{1, ids[1]})
	var numbers []int64
	members := millrace.MemberFilter{State: millrace.MemberActive, PageOf: millrace.PageOf{Limit: 1}}
	client.AllMembers(ctx, ids[1], members)(func(member *millrace.Member, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, member.Number)
		return len(numbers) < 2
	})
	wants(t, "the numbers", numbers, []int64{0, 1})
}

func TestWorkflowsAreCreatedOnce(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	flow := nightly()
	flow.IdempotencyKey = "night-1"
	first := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	again := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	wants(t, "both", []any{first.IsNew, again.IsNew, again.ID}, []any{true, false, first.ID})
	flow.Name = "other"
	_, err := client.CreateWorkflow(ctx, flow)
	refusedWith(t, err, millrace.ErrIdempotencyMismatch)
	unique := millrace.NewWorkflow{Open: true, Unique: &millrace.WorkflowUnique{Key: "k", OnConflict: "reject"}}
	must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, unique))
	_, err = client.CreateWorkflow(ctx, unique)
	refusedWith(t, err, millrace.ErrDuplicateWorkflow)
}

func TestWhatOnlyTheClientCanSeeIsRefused(t *testing.T) {
	t.Parallel()
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: "http://127.0.0.1:9", Timeout: time.Second}))
	flow := millrace.NewWorkflow{}
	nameless := flow.Add("", millrace.NewJob{Type: "t"})
	flow.Add("a", millrace.NewJob{Type: "t"}, millrace.Needs(nameless))
	flow.Add("a", millrace.NewJob{Type: "t"})
	_, err := client.CreateWorkflow(ctx, flow)
	e := refusedWith(t, err, millrace.ErrValidationFailed)
	wants(t, "the places", []string{e.Errors[0].Where, e.Errors[1].Where}, []string{"/members/1/needs/0/ref", "/members/2/ref"})
	flow = millrace.NewWorkflow{Members: make([]millrace.NewMember, millrace.MaxMembers+1)}
	flow.IdempotencyKey = "k"
	_, err = client.CreateWorkflow(ctx, flow)
	wants(t, "the place", refusedWith(t, err, millrace.ErrValidationFailed).Errors[0].Where, "Idempotency-Key")
	flow = millrace.NewWorkflow{Members: []millrace.NewMember{{}, {Job: millrace.NewJob{Type: "t", Payload: make(chan int)}}}}
	_, err = client.CreateWorkflow(ctx, flow)
	if e := refusedWith(t, err, millrace.ErrValidationFailed); !strings.HasPrefix(e.Errors[0].Detail, "members/1: ") {
		t.Errorf("the error is %v", e)
	}
}

// A workflow of three parts; of one with refs and one without, the answer is lost.
func TestMoreMembersThanARequestTakes(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	flow := millrace.NewWorkflow{Queue: "wide", Defaults: &millrace.NewJob{Type: "t", Queue: "jobs", Delay: time.Hour, Priority: 5}}
	for i := 0; i < 2*millrace.MaxMembers+1; i++ {
		ref := fmt.Sprint("m", i)
		if i == millrace.MaxMembers+1 {
			ref = ""
		}
		flow.Add(ref, millrace.NewJob{Payload: i})
	}
	last := &flow.Members[len(flow.Members)-1]
	last.Needs, last.Job.Queue, last.Job.RunAt = []millrace.Need{{Ref: "m0"}}, "late", time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	way.First(2, testserver.LoseAnswer, "POST", "/members")
	created := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	wants(t, "created", []any{created.IsNew, created.Members, created.Open}, []any{true, 2*millrace.MaxMembers + 1, false})
	end := must[*millrace.MemberDetail](t)(client.WorkflowMember(ctx, created.ID, last.Ref))
	wants(t, "the last one's job", end.Definition, millrace.NewJob{Type: "t", Queue: "late", RunAt: last.Job.RunAt, Priority: 5, Payload: 2 * millrace.MaxMembers})
	wants(t, "the last one's needs", end.Needs, []millrace.Need{{Ref: "m0", On: "succeeded"}})
	wants(t, "tries", len(way.Requests()), 1+3+1+1+1)

	flow.ID = created.ID // a repetition adds nothing
	again := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, flow))
	wants(t, "again", []any{again.IsNew, again.Members}, []any{false, 2*millrace.MaxMembers + 1})
}

func TestMembersAreAddedOnce(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	created := must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, millrace.NewWorkflow{Open: true}))
	more := millrace.NewMembers{}
	page := more.Add("page", millrace.NewJob{Type: "t"})
	more.Add("", millrace.NewJob{Type: "t"}, millrace.Needs(page))
	way.First(1, testserver.LoseAnswer, "POST", "/members")
	wants(t, "added", must[*millrace.AddedMembers](t)(client.AddMembers(ctx, created.ID, more)), millrace.AddedMembers{Existing: 2, Members: 2})
	key := way.Requests()[1].Header.Get("Idempotency-Key")
	wants(t, "the keys", []bool{key != "", way.Requests()[2].Header.Get("Idempotency-Key") == key}, []bool{true, true})
	named := millrace.NewMembers{By: "page", Close: true, Members: []millrace.NewMember{{Ref: "page", Job: millrace.NewJob{Type: "t"}}}}
	wants(t, "named ones", must[*millrace.AddedMembers](t)(client.AddMembers(ctx, created.ID, named)), millrace.AddedMembers{Existing: 1, Members: 2})
	seen := way.Requests()
	wants(t, "the key of named ones", seen[len(seen)-1].Header.Get("Idempotency-Key"), "")
	wants(t, "open", must[*millrace.Workflow](t)(client.CloseWorkflow(ctx, created.ID)).Open, false)
}

func TestRepeatedChangesOfWorkflowsSucceed(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	create := func() string {
		return must[*millrace.CreatedWorkflow](t)(client.CreateWorkflow(ctx, nightly())).ID
	}
	way.First(1, testserver.LoseAnswer, "POST", "/v1/workflows")
	id := create()
	way.First(1, testserver.LoseAnswer, "POST", "/skip")
	skipped := must[*millrace.Workflow](t)(client.SkipMember(ctx, id, "publish"))
	wants(t, "skipped", []any{skipped.ID, skipped.Counts.Skipped}, []any{id, 1})
	_, err := client.SkipMember(ctx, id, "load")
	refusedWith(t, err, millrace.ErrInvalidState)
	way.First(1, testserver.LoseAnswer, "POST", "/cancel")
	cancelled := must[*millrace.Workflow](t)(client.CancelWorkflow(ctx, id, "enough"))
	wants(t, "cancelled", []any{cancelled.State, cancelled.CancelReason}, []any{"cancelled", "enough"})
	way.First(1, testserver.LoseAnswer, "POST", "/retry")
	_, err = client.RetryWorkflow(ctx, id)
	refusedWith(t, err, millrace.ErrUnreachable)
	must[*millrace.Workflow](t)(client.CancelWorkflow(ctx, id, ""))
	refusedWith(t, client.DeleteWorkflow(ctx, id, millrace.IfMatch(1)), millrace.ErrVersionConflict)
	way.First(1, testserver.LoseAnswer, "DELETE", id)
	if err := client.DeleteWorkflow(ctx, id); err != nil {
		t.Fatal(err)
	}
}

func TestParentsOfAHandler(t *testing.T) {
	job := millrace.ClaimedJob{Parents: map[string]millrace.Parent{
		"load": {ID: "1", State: millrace.MemberSucceeded, Result: json.RawMessage(`{"Rows":3}`)},
		"big":  {ID: "2", State: millrace.MemberSucceeded, Omitted: "size"},
		"dead": {ID: "3", State: millrace.MemberFailed, Reason: "dead"},
		"none": {State: millrace.MemberSkipped},
	}}
	millrace.RunHandler(ctx, job, func(ctx context.Context) (any, error) {
		wants(t, "the result", must[loaded](t)(millrace.ParentResult[loaded](ctx, "load")), loaded{3})
		wants(t, "a parent", must[*millrace.Parent](t)(millrace.JobFrom(ctx).Parent("dead")).Reason, "dead")
		for ref, want := range map[string]string{
			"big":  `millrace: the parent has no result: that of "big", job 2, was left out: size`,
			"dead": `millrace: the parent has no result: "dead", job 3, is failed (dead)`,
			"none": `millrace: the parent has no result: "none", job none, is skipped`,
		} {
			if _, err := millrace.ParentResult[loaded](ctx, ref); !errors.Is(err, millrace.ErrNoResult) || err.Error() != want {
				t.Errorf("%s: the error is %v", ref, err)
			}
		}
		_, err := millrace.ParentResult[loaded](ctx, "lode")
		const want = `millrace: there is no such parent: "lode"; the job's parents are "big", "dead", "load", "none"`
		if !errors.Is(err, millrace.ErrNoParent) || err.Error() != want {
			t.Errorf("the error is %v", err)
		}
		if _, err := millrace.ParentResult[string](ctx, "load"); err == nil || !strings.Contains(err.Error(), `"load", job 1, is no string`) {
			t.Errorf("the error is %v", err)
		}
		return nil, nil
	})
	if _, err := millrace.ParentResult[any](ctx, "load"); !errors.Is(err, millrace.ErrNoParent) {
		t.Errorf("outside of a handler, the error is %v", err)
	}
}
