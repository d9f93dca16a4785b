package main

import (
	"context"
	"encoding/json"
	"fmt"

	millrace "github.com/millrace/millrace/sdk/go"
)

func (c *command) doWorkflow(ctx context.Context, client *millrace.Client) (any, error) {
	id := text(c.Workflow)
	page := millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor}
	members := millrace.MemberFilter{State: millrace.MemberState(c.State), Include: c.Include, PageOf: page}
	switch c.Do {
	case "create_workflow":
		return c.createWorkflow(ctx, client)
	case "workflow":
		return client.Workflow(ctx, id, c.Include...)
	case "wait_workflow":
		return client.WaitWorkflow(ctx, id, ms(c.TimeoutMs))
	case "workflows":
		return client.Workflows(ctx, c.workflowFilter(page))
	case "all_workflows":
		ids := []string{}
		var failed error
		client.AllWorkflows(ctx, c.workflowFilter(page))(func(workflow *millrace.Workflow, err error) bool {
			if failed = err; err == nil {
				ids = append(ids, workflow.ID)
			}
			return true
		})
		return object{"ids": ids}, failed
	case "workflow_members":
		return client.WorkflowMembers(ctx, id, members)
	case "all_members":
		numbers := []int64{}
		var failed error
		client.AllMembers(ctx, id, members)(func(member *millrace.Member, err error) bool {
			if failed = err; err == nil {
				numbers = append(numbers, member.Number)
			}
			return true
		})
		return object{"numbers": numbers}, failed
	case "workflow_member":
		return client.WorkflowMember(ctx, id, c.Ref, millrace.GetMember{Include: c.Include, Wait: ms(c.WaitMs)})
	case "workflow_graph":
		return client.WorkflowGraph(ctx, id, c.Cursor)
	case "why_workflow":
		return client.WhyWorkflow(ctx, id)
	}
	return c.changeWorkflow(ctx, client, id)
}

func (c *command) changeWorkflow(ctx context.Context, client *millrace.Client, id string) (any, error) {
	switch c.Do {
	case "add_members":
		given, err := read[millrace.NewMembers](c.Request)
		if err != nil {
			return nil, err
		}
		given.IdempotencyKey = c.IdempotencyKey
		return client.AddMembers(ctx, id, given)
	case "close_workflow":
		return client.CloseWorkflow(ctx, id)
	case "cancel_workflow":
		return client.CancelWorkflow(ctx, id, c.Reason)
	case "retry_workflow":
		said, err := read[struct {
			Refs          []string `json:"refs"`
			ResetAttempts *bool    `json:"reset_attempts"`
			DropLimits    bool     `json:"drop_limits"`
		}](c.Request)
		if err != nil {
			return nil, err
		}
		keep := said.ResetAttempts != nil && !*said.ResetAttempts
		settings := millrace.RetryWorkflow{Refs: said.Refs, KeepAttempts: keep, DropLimits: said.DropLimits}
		return client.RetryWorkflow(ctx, id, settings)
	case "skip_member":
		return client.SkipMember(ctx, id, c.Ref)
	case "delete_workflow":
		return object{}, client.DeleteWorkflow(ctx, id, c.options()...)
	}
	return nil, fmt.Errorf("%q is no command", c.Do)
}

// createWorkflow goes by the builder.
func (c *command) createWorkflow(ctx context.Context, client *millrace.Client) (any, error) {
	given, err := read[millrace.NewWorkflow](c.Workflow)
	if err != nil {
		return nil, err
	}
	var key struct {
		IdempotencyKey string `json:"idempotency_key"`
	}
	if err := json.Unmarshal(c.Workflow, &key); err != nil {
		return nil, err
	}
	flow := given
	flow.IdempotencyKey, flow.Members = key.IdempotencyKey, nil
	for _, member := range given.Members {
		flow.Add(member.Ref, member.Job, needsOf(&member))
	}
	return client.CreateWorkflow(ctx, flow)
}

func needsOf(member *millrace.NewMember) millrace.MemberOption {
	needs := make([]millrace.Needed, len(member.Needs))
	for i, need := range member.Needs {
		needs[i] = need
	}
	if member.NeedsAny {
		return millrace.NeedsAny(needs...)
	}
	return millrace.Needs(needs...)
}

func (c *command) workflowFilter(page millrace.PageOf) millrace.WorkflowFilter {
	f := millrace.WorkflowFilter{
		Queue: c.Filter.Queue, Name: c.Filter.Name, Tag: c.Filter.Tag, Fresh: c.Filter.Fresh, PageOf: page,
	}
	for _, state := range c.Filter.State {
		f.States = append(f.States, millrace.WorkflowState(state))
	}
	return f
}
