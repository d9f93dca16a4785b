package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// read decodes a body; a missing one counts as empty.
func read[T any](raw json.RawMessage) (value T, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &value)
	}
	return value, err
}

func (c *command) doQueue(ctx context.Context, client *millrace.Client) (any, error) {
	settings, err := read[millrace.QueueSettings](c.Settings)
	if err != nil {
		return nil, err
	}
	switch c.Do {
	case "queues":
		return client.Queues(ctx, millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor})
	case "queue":
		return client.Queue(ctx, c.Name)
	case "put_queue":
		return client.PutQueue(ctx, c.Name, settings, c.options()...)
	case "patch_queue":
		return client.PatchQueue(ctx, c.Name, settings, c.options()...)
	case "pause_queue":
		return client.PauseQueue(ctx, c.Name, c.Reason)
	case "resume_queue":
		return client.ResumeQueue(ctx, c.Name)
	case "delete_queue":
		return object{}, client.DeleteQueue(ctx, c.Name, c.options()...)
	}
	return nil, fmt.Errorf("%q is no command", c.Do)
}

func (c *command) doLimit(ctx context.Context, client *millrace.Client) (any, error) {
	settings, err := read[millrace.LimitSettings](c.Settings)
	if err != nil {
		return nil, err
	}
	switch c.Do {
	case "limits":
		return client.Limits(ctx, millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor})
	case "limit":
		return client.Limit(ctx, c.Name)
	case "put_limit":
		return client.PutLimit(ctx, c.Name, settings, c.options()...)
	case "patch_limit":
		return client.PatchLimit(ctx, c.Name, settings, c.options()...)
	case "pause_limit":
		return client.PauseLimit(ctx, c.Name, millrace.LimitPause{Reason: c.Reason})
	case "resume_limit":
		return client.ResumeLimit(ctx, c.Name, "")
	case "delete_limit":
		return object{}, client.DeleteLimit(ctx, c.Name, c.options()...)
	}
	return nil, fmt.Errorf("%q is no command", c.Do)
}

func (c *command) doOperation(ctx context.Context, client *millrace.Client) (any, error) {
	switch c.Do {
	case "operations":
		return client.Operations(ctx, millrace.OperationFilter{State: c.State})
	case "operation":
		return client.Operation(ctx, c.Operation)
	case "pause_operation":
		return client.PauseOperation(ctx, c.Operation)
	case "resume_operation":
		return client.ResumeOperation(ctx, c.Operation)
	case "cancel_operation":
		return client.CancelOperation(ctx, c.Operation)
	}
	return nil, fmt.Errorf("%q is no command", c.Do)
}

// doRest runs the commands about what the server tells, and any other call.
func (c *command) doRest(ctx context.Context, client *millrace.Client) (any, bool, error) {
	switch c.Do {
	case "bulk":
		request, err := read[millrace.Bulk](c.Request)
		if err != nil {
			return nil, true, err
		}
		done, err := client.Bulk(ctx, request)
		if err == nil && done.Operation != nil {
			return done.Operation, true, nil
		}
		return answer(done, err)
	case "workers":
		return answer(client.Workers(ctx, millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor}))
	case "why":
		return answer(client.Why(ctx, c.id()))
	case "events":
		return answer(client.Events(ctx, millrace.EventFilter{
			Job: c.id(), Types: c.Types, Queues: c.Queues, Wait: ms(c.WaitMs),
			PageOf: millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor},
		}))
	case "stats":
		of := millrace.StatsOf{Window: ms(c.WindowMs), Step: ms(c.StepMs), By: c.By, Name: c.Name}
		return answer(client.Stats(ctx, of))
	case "call":
		query := url.Values{}
		for name, value := range c.Query {
			query.Set(name, fmt.Sprint(value))
		}
		var body any
		if c.Body != nil {
			body = c.Body
		}
		raw, err := client.Call(ctx, c.Method, c.Path, query, body)
		if err == nil && raw == nil {
			return object{}, true, nil
		}
		return answer(raw, err)
	}
	return nil, false, nil
}

func (c *command) doSchedule(ctx context.Context, client *millrace.Client) (any, error) {
	switch c.Do {
	case "schedules":
		page := millrace.PageOf{Limit: c.Limit, Cursor: c.Cursor}
		filter := millrace.ScheduleFilter{ManagedBy: c.ManagedBy, PageOf: page}
		return client.Schedules(ctx, filter)
	case "schedule":
		return client.Schedule(ctx, c.Name)
	case "put_schedule":
		spec, err := read[millrace.ScheduleSpec](c.Spec)
		if err != nil {
			return nil, err
		}
		return client.PutSchedule(ctx, c.Name, spec, c.options()...)
	case "delete_schedule":
		return object{}, client.DeleteSchedule(ctx, c.Name, c.options()...)
	case "pause_schedule":
		return client.PauseSchedule(ctx, c.Name, c.Reason)
	case "resume_schedule":
		return client.ResumeSchedule(ctx, c.Name)
	case "trigger_schedule":
		body, err := read[struct {
			ScheduledAt time.Time `json:"scheduled_at"`
		}](c.Spec)
		if err != nil {
			return nil, err
		}
		submitted, err := client.TriggerSchedule(ctx, c.Name, body.ScheduledAt)
		if err != nil {
			return nil, err
		}
		return submitted.Job, nil
	case "backfill_schedule":
		body, err := read[struct {
			From   time.Time `json:"from"`
			To     time.Time `json:"to"`
			Limit  int       `json:"limit"`
			DryRun bool      `json:"dry_run"`
			Rerun  bool      `json:"rerun"`
		}](c.Spec)
		if err != nil {
			return nil, err
		}
		return client.BackfillSchedule(ctx, c.Name, millrace.Backfill(body))
	case "schedule_runs":
		runs, err := client.ScheduleRuns(ctx, c.Name)
		return object{"items": runs}, err
	case "preview_schedule":
		preview, err := read[millrace.Preview](c.Spec)
		if err != nil {
			return nil, err
		}
		return client.PreviewSchedule(ctx, preview)
	case "apply_schedules":
		set, err := read[millrace.ScheduleSet](c.Spec)
		if err != nil {
			return nil, err
		}
		if c.ManagedBy != nil {
			set.ManagedBy = *c.ManagedBy
		}
		return client.ApplySchedules(ctx, set)
	}
	return nil, fmt.Errorf("%q is no command", c.Do)
}

func answer[T any](value T, err error) (any, bool, error) { return value, true, err }
