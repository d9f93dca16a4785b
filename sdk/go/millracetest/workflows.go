package millracetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// CreateWorkflow creates a workflow as Client.CreateWorkflow does. A timeout is refused: the fake has
// none.
func (f *Fake) CreateWorkflow(ctx context.Context, workflow millrace.NewWorkflow) (*millrace.CreatedWorkflow, error) {
	if workflow.Timeout != 0 {
		return nil, refusal(http.StatusUnprocessableEntity, "not_in_fake", "the fake has no timeouts of workflows")
	}
	if workflow.Queue == "" {
		workflow.Queue = millrace.DefaultQueue
	}
	f.mutex.Lock()
	fl, refused := f.knownFlow(&workflow)
	if fl != nil || refused != nil {
		defer f.mutex.Unlock()
		if refused != nil {
			return nil, refused
		}
		return &millrace.CreatedWorkflow{Workflow: fl.shape()}, nil
	}
	fl, refused = f.newFlow(ctx, workflow)
	if refused != nil {
		f.mutex.Unlock()
		return nil, refused
	}
	created := &millrace.CreatedWorkflow{Workflow: fl.shape(), IsNew: true}
	f.settle(fl)
	f.runReleased(ctx)
	return created, nil
}

// runReleased gives the mutex back and, in the mode Inline, runs the jobs that were released.
func (f *Fake) runReleased(ctx context.Context) {
	released := f.takeReleased()
	f.mutex.Unlock()
	for _, e := range released {
		f.runWhileDue(ctx, e)
	}
}

// knownFlow returns the workflow that is the answer to a creation, if there is one.
func (f *Fake) knownFlow(workflow *millrace.NewWorkflow) (*flow, *millrace.Error) {
	for _, fl := range f.flows {
		isSameQueue := fl.given.Queue == workflow.Queue
		switch {
		case workflow.IdempotencyKey != "" && isSameQueue && fl.given.IdempotencyKey == workflow.IdempotencyKey:
			if !isSame(fl.given, workflow) {
				const message = "this key was used with another body"
				return nil, refusal(http.StatusUnprocessableEntity, "idempotency_mismatch", message)
			}
			return fl, nil
		case workflow.ID != "" && fl.shown.ID == workflow.ID:
			if !isSame(fl.given, workflow) {
				return nil, refusal(http.StatusConflict, "id_mismatch", "a workflow with this id has another content")
			}
			return fl, nil
		}
	}
	for _, fl := range f.flows {
		holds := workflow.Unique != nil && fl.given.Unique != nil && fl.given.Unique.Key == workflow.Unique.Key
		if !holds || fl.given.Queue != workflow.Queue || fl.shown.State.IsFinal() {
			continue
		}
		if workflow.Unique.OnConflict == "reject" {
			return nil, refusal(http.StatusConflict, "duplicate_workflow", "another workflow holds the unique key")
		}
		return fl, nil
	}
	return nil, nil
}

func (f *Fake) newFlow(ctx context.Context, workflow millrace.NewWorkflow) (*flow, *millrace.Error) {
	fl := &flow{given: workflow, byRef: map[string]*member{}, keys: map[string]bool{}}
	fl.shown = millrace.Workflow{
		ID: workflow.ID, Name: workflow.Name, Queue: workflow.Queue, State: millrace.WorkflowRunning, Generation: 1,
		Version: 1, Open: workflow.Open, CreatedAt: f.now, Tags: workflow.Tags, Meta: workflow.Meta,
		OnMemberFailed: workflow.OnMemberFailed, MaxActive: workflow.MaxActive, ResultFrom: workflow.ResultFrom,
		KeepMembers: workflow.KeepMembers == nil || *workflow.KeepMembers,
	}
	if fl.shown.ID == "" {
		fl.shown.ID = millrace.MakeID(workflow.Queue)
	}
	if fl.shown.OnMemberFailed == "" {
		fl.shown.OnMemberFailed = "continue"
	}
	if workflow.Unique != nil {
		fl.shown.Unique = &millrace.WorkflowUnique{Key: workflow.Unique.Key}
	}
	added, refused := f.resolve(ctx, fl, workflow.Members, workflow.Defaults)
	if refused != nil {
		return nil, refused
	}
	fl.add(added)
	if from := workflow.ResultFrom; from != "" && !workflow.Open && fl.byRef[from] == nil {
		return nil, invalid(millrace.Fault{Where: "/result_from", Detail: "no member has this ref"})
	}
	for _, callback := range []struct {
		name  string
		given *millrace.NewJob
		into  **millrace.NewJob
	}{
		{"/on_success", workflow.OnSuccess, &fl.then.onSuccess}, {"/on_failure", workflow.OnFailure, &fl.then.onFailure},
		{"/on_end", workflow.OnEnd, &fl.then.onEnd},
	} {
		if callback.given == nil {
			continue
		}
		complete, faults := fl.prepare(ctx, *callback.given, workflow.Defaults, callback.name)
		if len(faults) > 0 {
			return nil, invalid(faults...)
		}
		*callback.into = &complete
	}
	f.flows = append(f.flows, fl)
	return fl, nil
}

// shape returns the workflow as the server shows it.
func (fl *flow) shape(include ...string) millrace.Workflow {
	shown := fl.shown
	shown.Members, shown.Counts = len(fl.members), fl.counts()
	if len(include) > 0 {
		shown.Result = json.RawMessage("null")
		if m := fl.byRef[shown.ResultFrom]; m != nil && m.entry != nil {
			shown.Result = m.entry.job.Result
		}
	}
	return shown
}

func (f *Fake) flow(id string) (*flow, *millrace.Error) {
	for _, fl := range f.flows {
		if fl.shown.ID == id {
			return fl, nil
		}
	}
	return nil, missing("workflow", id)
}

// Workflow returns a workflow as Client.Workflow does.
func (f *Fake) Workflow(_ context.Context, id string, include ...string) (*millrace.Workflow, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	fl, err := f.flow(id)
	if err != nil {
		return nil, err
	}
	return millrace.Ptr(fl.shape(include...)), nil
}

// WaitWorkflow returns a workflow that has ended, with its result. For any other it returns
// ErrWaitTimeout at once, as Wait does.
func (f *Fake) WaitWorkflow(ctx context.Context, id string, timeout time.Duration) (*millrace.Workflow, error) {
	workflow, err := f.Workflow(ctx, id, "result")
	if err == nil && !workflow.State.IsFinal() {
		const text = "workflow %s is %s, and %v would change nothing"
		return nil, &millrace.Error{Code: "wait_timeout", Message: fmt.Sprintf(text, id, workflow.State, timeout)}
	}
	return workflow, err
}

// Workflows returns a page of workflows as Client.Workflows does.
func (f *Fake) Workflows(_ context.Context, filter millrace.WorkflowFilter) (*millrace.Page[millrace.Workflow], error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var chosen []millrace.Workflow
	var places []int // from the oldest, so that new workflows leave them alone
	for i := len(f.flows) - 1; i >= 0; i-- {
		if isChosen(&f.flows[i].shown, &filter) {
			chosen, places = append(chosen, f.flows[i].shape()), append(places, -i)
		}
	}
	return pageOf(chosen, places, filter.PageOf)
}

func isChosen(workflow *millrace.Workflow, filter *millrace.WorkflowFilter) bool {
	job := millrace.Job{
		Queue: workflow.Queue, Type: workflow.Name, State: millrace.JobState(workflow.State), Tags: workflow.Tags,
		CreatedAt: workflow.CreatedAt,
	}
	like := millrace.JobFilter{
		Queue: filter.Queue, Type: filter.Name, Tag: filter.Tag, CreatedAfter: filter.CreatedAfter,
		CreatedBefore: filter.CreatedBefore,
	}
	for _, state := range filter.States {
		like.States = append(like.States, millrace.JobState(state))
	}
	return chosen(&job, &like)
}

// pageOf returns a page of a list, whose items have places that rise.
func pageOf[T any](items []T, places []int, of millrace.PageOf) (*millrace.Page[T], error) {
	if of.Limit == 0 {
		of.Limit = 50
	}
	if of.Limit < 1 || of.Limit > 1000 {
		return nil, invalid(millrace.Fault{Where: "limit", Detail: "must be 1 to 1000"})
	}
	after, err := strconv.Atoi(of.Cursor)
	if of.Cursor != "" && err != nil {
		return nil, invalid(millrace.Fault{Where: "cursor", Detail: "is none of the fake's"})
	}
	page := &millrace.Page[T]{Items: []T{}}
	for i := range items {
		if of.Cursor != "" && places[i] <= after {
			continue
		}
		if len(page.Items) == of.Limit {
			page.NextCursor = strconv.Itoa(places[i-1])
			break
		}
		page.Items = append(page.Items, items[i])
	}
	return page, nil
}

// WorkflowMembers returns a page of members as Client.WorkflowMembers does.
func (f *Fake) WorkflowMembers(
	_ context.Context, id string, filter millrace.MemberFilter,
) (*millrace.Page[millrace.Member], error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	fl, err := f.flow(id)
	if err != nil {
		return nil, err
	}
	var chosen []millrace.Member
	var places []int
	for i, m := range fl.members {
		if filter.State == "" || filter.State == m.State {
			chosen, places = append(chosen, m.shape(filter.Include)), append(places, i)
		}
	}
	return pageOf(chosen, places, filter.PageOf)
}

func (m *member) shape(include []string) millrace.Member {
	shape := m.Member
	for _, name := range include {
		switch {
		case name == "job" && m.entry != nil:
			shape.Job = millrace.Ptr(shown(m.entry, nil))
		case name == "result" && m.entry != nil:
			shape.Result = m.entry.job.Result
		case name == "result":
			shape.Result = json.RawMessage("null")
		}
	}
	return shape
}

// WorkflowMember returns a member as Client.WorkflowMember does, without waiting.
func (f *Fake) WorkflowMember(
	_ context.Context, id, ref string, settings ...millrace.GetMember,
) (*millrace.MemberDetail, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	fl, err := f.flow(id)
	if err != nil {
		return nil, err
	}
	m, err := fl.find(ref)
	if err != nil {
		return nil, err
	}
	detail := m.MemberDetail
	for _, s := range settings {
		detail.Member = m.shape(s.Include)
	}
	for _, need := range m.Needs {
		if !fl.byRef[need.Ref].hasEnded() && len(detail.WaitsFor) < 20 {
			detail.WaitsFor = append(detail.WaitsFor, need.Ref)
		}
	}
	return &detail, nil
}

// AddMembers adds members to a workflow as Client.AddMembers does.
func (f *Fake) AddMembers(ctx context.Context, id string, members millrace.NewMembers) (*millrace.AddedMembers, error) {
	answer := &millrace.AddedMembers{}
	_, err := f.alter(ctx, id, func(fl *flow) *millrace.Error {
		var added []*member
		if members.IdempotencyKey == "" || !fl.keys[members.IdempotencyKey] {
			if fl.shown.State.IsFinal() {
				return hasEnded()
			}
			var err *millrace.Error
			if added, err = f.resolve(ctx, fl, members.Members, nil); err != nil {
				return err
			}
			if len(added) > 0 && !fl.takesFrom(members.By) {
				const message = "the workflow is closed, and takes members only from an active member"
				return refusal(http.StatusConflict, "invalid_state", message)
			}
			fl.add(added)
			fl.keys[members.IdempotencyKey] = true
			closes := members.Close && fl.shown.Open
			if len(added) > 0 || closes {
				fl.shown.Version++
			}
			fl.shown.Open = fl.shown.Open && !closes
		}
		*answer = millrace.AddedMembers{
			Added: len(added), Existing: len(members.Members) - len(added), Members: len(fl.members),
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// takesFrom returns whether the workflow takes members from outside, or from this member.
func (fl *flow) takesFrom(by string) bool {
	if by == "" {
		return fl.shown.Open
	}
	m, err := fl.find(by)
	return err == nil && m.State == millrace.MemberActive
}

// alter changes a workflow, and returns it as it is before anything follows from the change.
func (f *Fake) alter(ctx context.Context, id string, change func(*flow) *millrace.Error) (*millrace.Workflow, error) {
	f.mutex.Lock()
	fl, err := f.flow(id)
	if err == nil {
		err = change(fl)
	}
	if err != nil {
		f.mutex.Unlock()
		return nil, err
	}
	answer := fl.shape()
	f.settle(fl)
	f.runReleased(ctx)
	return &answer, nil
}

// CloseWorkflow closes a workflow as Client.CloseWorkflow does.
func (f *Fake) CloseWorkflow(ctx context.Context, id string) (*millrace.Workflow, error) {
	return f.alter(ctx, id, func(fl *flow) *millrace.Error {
		if fl.shown.Open {
			fl.shown.Open = false
			fl.shown.Version++
		}
		return nil
	})
}

// CancelWorkflow cancels a workflow as Client.CancelWorkflow does.
func (f *Fake) CancelWorkflow(ctx context.Context, id, reason string) (*millrace.Workflow, error) {
	return f.alter(ctx, id, func(fl *flow) *millrace.Error {
		if fl.shown.State.IsFinal() {
			return hasEnded()
		}
		fl.shown.CancelReason = reason
		fl.stop("cancelled")
		return nil
	})
}

func hasEnded() *millrace.Error {
	return refusal(http.StatusConflict, "invalid_state", "the workflow has ended")
}

// SkipMember skips a blocked member as Client.SkipMember does.
func (f *Fake) SkipMember(ctx context.Context, id, ref string) (*millrace.Workflow, error) {
	return f.alter(ctx, id, func(fl *flow) *millrace.Error {
		m, err := fl.find(ref)
		if err != nil {
			return err
		}
		if m.State != millrace.MemberBlocked {
			return notBlocked(ref)
		}
		m.State, m.Reason = millrace.MemberSkipped, "by_call"
		f.settle(fl)
		return nil
	})
}
