package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WorkflowState is the state of a workflow.
type WorkflowState string

// The states of workflows. WorkflowSucceeded and the states after it are final.
const (
	WorkflowRunning   WorkflowState = "running"
	WorkflowStopping  WorkflowState = "stopping" // releases nothing more
	WorkflowSucceeded WorkflowState = "succeeded"
	WorkflowFailed    WorkflowState = "failed"
	WorkflowCancelled WorkflowState = "cancelled"
	// WorkflowPruned: retention has removed the workflow, but its idempotency key is still valid.
	WorkflowPruned WorkflowState = "pruned"
)

// IsFinal reports whether a workflow in this state has ended. Client.RetryWorkflow can start a failed or
// cancelled one again.
func (s WorkflowState) IsFinal() bool {
	switch s {
	case WorkflowSucceeded, WorkflowFailed, WorkflowCancelled, WorkflowPruned:
		return true
	}
	return false
}

// MemberState is the state of a member of a workflow.
type MemberState string

// The states of members. MemberSucceeded and the states after it are final.
const (
	MemberBlocked   MemberState = "blocked" // waits for what it needs
	MemberActive    MemberState = "active"  // has a job that has not ended
	MemberSucceeded MemberState = "succeeded"
	MemberFailed    MemberState = "failed"
	MemberSkipped   MemberState = "skipped"
)

// CreatedWorkflow is the answer to a creation.
type CreatedWorkflow struct {
	Workflow
	// IsNew is false if the workflow existed already.
	IsNew bool
}

// MarshalJSON writes the members "workflow" and "is_new".
func (w CreatedWorkflow) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Workflow Workflow `json:"workflow"`
		IsNew    bool     `json:"is_new"`
	}{w.Workflow, w.IsNew})
}

// MaxMembers is the maximum number of members in one request.
const MaxMembers = mostMembers

// CreateWorkflow creates a workflow. If it returns no error, the server has all of it on disk. A workflow
// without an ID and without an IdempotencyKey is given an id first, so that retries are idempotent. A ref
// that two members have, and a need of a member without a ref, are refused before anything is sent.
//
// More than MaxMembers are sent in parts, in their order; so no member may need one of a later part. The
// workflow is open until the last part has come, and stays so if the first error ends the call: the call
// can be repeated safely if the workflow has an ID. It may have no IdempotencyKey.
func (c *Client) CreateWorkflow(ctx context.Context, workflow NewWorkflow) (*CreatedWorkflow, error) {
	if err := workflow.check(); err != nil {
		return nil, err
	}
	if workflow.ID == "" && workflow.IdempotencyKey == "" {
		workflow.ID = MakeID(workflow.Queue)
	}
	if len(workflow.Members) > MaxMembers {
		return c.createInParts(ctx, workflow)
	}
	return c.createWorkflow(ctx, workflow)
}

func (c *Client) createWorkflow(ctx context.Context, workflow NewWorkflow) (*CreatedWorkflow, error) {
	body, err := workflow.append(nil)
	if err != nil {
		return nil, notJSON(err, "")
	}
	request := post("/v1/workflows", body)
	if workflow.IdempotencyKey != "" {
		request.header = keyHeader(workflow.IdempotencyKey)
	}
	request.header = c.addTrace(ctx, request.header)
	created := new(CreatedWorkflow)
	status, err := c.do(ctx, request, &created.Workflow)
	if err != nil {
		return nil, err
	}
	created.IsNew = status == http.StatusCreated
	return created, nil
}

func (c *Client) createInParts(ctx context.Context, workflow NewWorkflow) (*CreatedWorkflow, error) {
	all, closes := workflow.Members, !workflow.Open
	workflow.Members, workflow.Open = all[:MaxMembers], true
	created, err := c.createWorkflow(ctx, workflow)
	if err != nil {
		return nil, err
	}
	isHolder := created.ID != workflow.ID // of the unique key
	if isHolder || !created.Open || created.State.IsFinal() {
		return created, nil // an earlier call has sent all parts
	}
	for first := MaxMembers; first < len(all); first += MaxMembers {
		end := min(first+MaxMembers, len(all))
		part := NewMembers{
			Members:        withDefaults(all[first:end], workflow.Defaults),
			Close:          closes && end == len(all),
			IdempotencyKey: created.ID + "/" + formatInt(int64(first)),
		}
		if _, err := c.AddMembers(ctx, created.ID, part); err != nil {
			return nil, err
		}
	}
	whole, err := c.Workflow(ctx, created.ID)
	if err != nil {
		return nil, err
	}
	return &CreatedWorkflow{*whole, created.IsNew}, nil
}

func keyHeader(key string) [][2]string { return [][2]string{{"Idempotency-Key", key}} }

func workflowPath(id, rest string) string { return "/v1/workflows/" + url.PathEscape(id) + rest }

func memberPath(id, ref, rest string) string {
	return workflowPath(id, "/members/"+url.PathEscape(ref)+rest)
}

// Workflow returns a workflow. The name to include is result.
func (c *Client) Workflow(ctx context.Context, id string, include ...string) (*Workflow, error) {
	request := get(workflowPath(id, ""))
	request.query = includeQuery(include)
	return fetch[Workflow](ctx, c, request)
}

// WaitWorkflow waits until a workflow has ended and returns it with its result. It may have ended in any
// way; check its State. The timeout and the errors are as of Wait.
func (c *Client) WaitWorkflow(ctx context.Context, id string, timeout time.Duration) (*Workflow, error) {
	request := get(workflowPath(id, ""))
	request.query = url.Values{"include": {"result"}}
	return await(ctx, c, request, timeout, func(workflow *Workflow) error {
		if workflow.State.IsFinal() {
			return nil
		}
		return waitTimeout("workflow", id, string(workflow.State), timeout)
	})
}

// WorkflowFilter chooses workflows. The zero value chooses all.
type WorkflowFilter struct {
	States        []WorkflowState
	Queue         string // of the workflow itself
	Name          string
	Tag           string
	CreatedAfter  time.Time // inclusive
	CreatedBefore time.Time
	// Fresh waits until the tables show all changes acknowledged before the call. Otherwise they may be
	// 1 s behind.
	Fresh bool
	PageOf
}

// Workflows returns a page of the workflows that the filter selects, newest first.
func (c *Client) Workflows(ctx context.Context, filter WorkflowFilter) (*Page[Workflow], error) {
	states := make([]string, len(filter.States))
	for i, state := range filter.States {
		states[i] = string(state)
	}
	q := query{}
	q.set("state", strings.Join(states, ","))
	q.set("queue", filter.Queue)
	q.set("name", filter.Name)
	q.set("tag", filter.Tag)
	q.setTime("created_after", filter.CreatedAfter)
	q.setTime("created_before", filter.CreatedBefore)
	if filter.Fresh {
		q.set("fresh", "true")
	}
	filter.PageOf.set(q)
	request := get("/v1/workflows")
	request.query = url.Values(q)
	return fetch[Page[Workflow]](ctx, c, request)
}

// AllWorkflows returns an iterator over the workflows that the filter selects, newest first; see All.
func (c *Client) AllWorkflows(ctx context.Context, filter WorkflowFilter) func(yield func(*Workflow, error) bool) {
	return each(func(cursor string) (*Page[Workflow], error) {
		filter.Cursor = cursor
		return c.Workflows(ctx, filter)
	}, filter.Cursor)
}

// MemberFilter chooses members of a workflow. The zero value chooses all.
type MemberFilter struct {
	State MemberState
	// Include names job and result.
	Include []string
	PageOf
}

// WorkflowMembers returns a page of the members that the filter selects, by number.
func (c *Client) WorkflowMembers(ctx context.Context, id string, filter MemberFilter) (*Page[Member], error) {
	q := query{}
	q.set("state", string(filter.State))
	q.set("include", strings.Join(filter.Include, ","))
	filter.PageOf.set(q)
	request := get(workflowPath(id, "/members"))
	request.query = url.Values(q)
	return fetch[Page[Member]](ctx, c, request)
}

// AllMembers returns an iterator over the members that the filter selects, by number; see All.
func (c *Client) AllMembers(
	ctx context.Context, id string, filter MemberFilter,
) func(yield func(*Member, error) bool) {
	return each(func(cursor string) (*Page[Member], error) {
		filter.Cursor = cursor
		return c.WorkflowMembers(ctx, id, filter)
	}, filter.Cursor)
}

// GetMember holds the settings of Client.WorkflowMember.
type GetMember struct {
	// Include names job and result.
	Include []string
	// Wait is how long to wait until the member has ended, at most a minute.
	Wait time.Duration
}

// WorkflowMember returns a member with its definition. A member without a ref is "@" and its number.
func (c *Client) WorkflowMember(ctx context.Context, id, ref string, settings ...GetMember) (*MemberDetail, error) {
	request := get(memberPath(id, ref, ""))
	for _, s := range settings {
		q := query{}
		q.set("include", strings.Join(s.Include, ","))
		q.setInt("wait_ms", int(milliseconds(s.Wait)))
		request.query, request.patience = url.Values(q), s.Wait
	}
	return fetch[MemberDetail](ctx, c, request)
}

// WorkflowGraph returns a page of the members and what they need, by number. A page has at most 10,000
// lines.
func (c *Client) WorkflowGraph(ctx context.Context, id, cursor string) (*Page[GraphLine], error) {
	q := query{}
	q.set("cursor", cursor)
	request := get(workflowPath(id, "/graph"))
	request.query = url.Values(q)
	return fetch[Page[GraphLine]](ctx, c, request)
}

// AllGraphLines returns an iterator over the members and what they need, by number; see All.
func (c *Client) AllGraphLines(ctx context.Context, id string) func(yield func(*GraphLine, error) bool) {
	return each(func(cursor string) (*Page[GraphLine], error) { return c.WorkflowGraph(ctx, id, cursor) }, "")
}

// WhyWorkflow returns why a workflow has not ended.
func (c *Client) WhyWorkflow(ctx context.Context, id string) (*WorkflowWhy, error) {
	return fetch[WorkflowWhy](ctx, c, get(workflowPath(id, "/why")))
}

// AddMembers adds up to MaxMembers to a workflow: to an open one, or By a member that is active. A ref
// that is there is left alone. Members of which one has no ref are given an IdempotencyKey first, so that
// retries add nothing.
func (c *Client) AddMembers(ctx context.Context, id string, members NewMembers) (*AddedMembers, error) {
	body, err := members.append(nil)
	if err != nil {
		return nil, notJSON(err, "")
	}
	request := post(workflowPath(id, "/members"), body)
	if members.IdempotencyKey != "" {
		request.header = keyHeader(members.IdempotencyKey)
	} else if !haveRefs(members.Members) {
		request.header = onceKey()
	}
	request.header = c.addTrace(ctx, request.header)
	return fetch[AddedMembers](ctx, c, request)
}

// CloseWorkflow lets an open workflow end once its members have. A closed one stays as it is.
func (c *Client) CloseWorkflow(ctx context.Context, id string) (*Workflow, error) {
	return fetch[Workflow](ctx, c, post(workflowPath(id, "/close"), nil))
}

// CancelWorkflow stops a workflow: nothing more is released, jobs that wait are cancelled, and handlers of
// running ones are told. The reason is for people, at most 1,024 bytes; it may be empty.
func (c *Client) CancelWorkflow(ctx context.Context, id, reason string) (*Workflow, error) {
	workflow := new(Workflow)
	_, tries, err := c.try(ctx, post(workflowPath(id, "/cancel"), reasonBody(reason)), workflow)
	if err == nil {
		return workflow, nil
	}
	if tries > 1 && errors.Is(err, ErrInvalidState) {
		// An earlier try may have cancelled the workflow, and its answer was lost.
		if now, e := c.Workflow(ctx, id); e == nil && now.State == WorkflowCancelled {
			return now, nil
		}
	}
	return nil, err
}

// RetryWorkflow holds the settings of Client.RetryWorkflow.
type RetryWorkflow struct {
	Refs         []string // the members; none: those whose failure no other member has caught
	KeepAttempts bool     // continue the counts of attempts instead of starting at 0
	DropLimits   bool     // without the jobs' limits that no longer exist
}

// RetryWorkflow runs failed members again, and what was skipped because of them. If the workflow has
// ended, this begins a new generation of it. The call is not retried if the server may have begun it:
// check the workflow's Generation after ErrUnreachable.
func (c *Client) RetryWorkflow(ctx context.Context, id string, settings ...RetryWorkflow) (*Workflow, error) {
	m := openObject(nil)
	for _, s := range settings {
		if len(s.Refs) > 0 {
			m.texts("refs", s.Refs)
		}
		if s.KeepAttempts {
			m.boolean("reset_attempts", false)
		}
		m.maybeBoolean("drop_limits", s.DropLimits)
	}
	request := post(workflowPath(id, "/retry"), m.close())
	request.once = true
	return fetch[Workflow](ctx, c, request)
}

// SkipMember goes on without a blocked member, and returns the workflow. What needs the member's success
// is skipped, too.
func (c *Client) SkipMember(ctx context.Context, id, ref string) (*Workflow, error) {
	workflow := new(Workflow)
	_, tries, err := c.try(ctx, post(memberPath(id, ref, "/skip"), nil), workflow)
	if err == nil {
		return workflow, nil
	}
	if tries > 1 && errors.Is(err, ErrInvalidState) {
		// An earlier try may have skipped the member, and its answer was lost.
		if now, e := c.WorkflowMember(ctx, id, ref); e == nil && now.State == MemberSkipped {
			return c.Workflow(ctx, id)
		}
	}
	return nil, err
}

// DeleteWorkflow deletes a workflow that has ended, with the jobs of its members. It accepts IfMatch.
func (c *Client) DeleteWorkflow(ctx context.Context, id string, options ...CallOption) error {
	return c.delete(ctx, workflowPath(id, ""), options)
}
