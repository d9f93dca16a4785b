package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	millrace "github.com/millrace/millrace/sdk/go"
)

// command holds the members of all commands.
type command struct {
	ID                 json.RawMessage   `json:"id"`
	Do                 string            `json:"do"`
	URL                string            `json:"url"`
	Token              string            `json:"token"`
	TimeoutMs          int64             `json:"timeout_ms"`
	QueueFullTimeoutMs int64             `json:"queue_full_timeout_ms"`
	CAFile             string            `json:"ca_file"`
	Fake               string            `json:"fake"`
	Queue              string            `json:"queue"`
	Job                json.RawMessage   `json:"job"`
	Jobs               []millrace.NewJob `json:"jobs"`
	Atomic             bool              `json:"atomic"`
	Include            []string          `json:"include"`
	Filter             filter            `json:"filter"`
	Limit              int               `json:"limit"`
	Cursor             string            `json:"cursor"`
	Reason             string            `json:"reason"`
	Name               string            `json:"name"`
	Settings           json.RawMessage   `json:"settings"`
	Force              bool              `json:"force"`
	IfMatch            *int64            `json:"if_match"`
	Spec               json.RawMessage   `json:"spec"`
	ManagedBy          *string           `json:"managed_by"`

	Request   json.RawMessage `json:"request"`
	Operation string          `json:"operation"`
	State     string          `json:"state"`
	WaitMs    int64           `json:"wait_ms"`
	WindowMs  int64           `json:"window_ms"`
	StepMs    int64           `json:"step_ms"`
	By        string          `json:"by"`
	Method    string          `json:"method"`
	Path      string          `json:"path"`
	Query     map[string]any  `json:"query"`
	Body      json.RawMessage `json:"body"`

	Workflow       json.RawMessage `json:"workflow"`
	Ref            string          `json:"ref"`
	IdempotencyKey string          `json:"idempotency_key"`

	Queues      []string `json:"queues"`
	Types       []string `json:"types"`
	Type        string   `json:"type"`
	Concurrency int      `json:"concurrency"`
	LeaseMs     int64    `json:"lease_ms"`
	PollWaitMs  int64    `json:"poll_wait_ms"`
	GraceMs     *int64   `json:"grace_ms"`
	Version     string   `json:"version"`
	Middleware  bool     `json:"middleware"`
	Ms          int64    `json:"ms"`
}

type filter struct {
	State stringOrList `json:"state"`
	Queue string       `json:"queue"`
	Type  string       `json:"type"`
	Name  string       `json:"name"`
	Tag   string       `json:"tag"`
	Q     string       `json:"q"`
	Fresh bool         `json:"fresh"`
}

// stringOrList takes "a,b" and ["a", "b"].
type stringOrList []string

func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if text != "" {
			*s = strings.Split(text, ",")
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// id reads the member "job" where it is an id.
func (c *command) id() string { return text(c.Job) }

func text(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

func (c *command) jobFilter() millrace.JobFilter {
	f := millrace.JobFilter{
		Queue: c.Filter.Queue, Type: c.Filter.Type, Tag: c.Filter.Tag, Query: c.Filter.Q,
		Fresh: c.Filter.Fresh, Limit: c.Limit, Cursor: c.Cursor,
	}
	for _, state := range c.Filter.State {
		f.States = append(f.States, millrace.JobState(state))
	}
	return f
}

func (p *program) do(ctx context.Context, c *command) (any, error) {
	p.mutex.Lock()
	client, fake := p.client, p.fake
	p.mutex.Unlock()
	if fake != nil {
		if value, done := p.doFake(ctx, fake, c); done {
			return value, nil
		}
	}
	switch c.Do {
	case "hello":
		return object{"sdk": "go", "version": millrace.Version}, nil
	case "configure":
		return p.configure(c)
	case "make_id":
		return object{"id": millrace.MakeID(c.Queue)}, nil
	case "submit":
		var job millrace.NewJob
		if err := json.Unmarshal(c.Job, &job); err != nil {
			return nil, err
		}
		return client.Submit(ctx, job)
	case "submit_batch":
		return c.submitBatch(ctx, client)
	case "get":
		return client.Get(ctx, c.id(), c.Include...)
	case "wait":
		return client.Wait(ctx, c.id(), ms(c.TimeoutMs))
	case "list":
		return client.List(ctx, c.jobFilter())
	case "list_all":
		ids := []string{}
		var failed error
		client.All(ctx, c.jobFilter())(func(job *millrace.Job, err error) bool {
			if failed = err; err == nil {
				ids = append(ids, job.ID)
			}
			return true
		})
		return object{"ids": ids}, failed
	case "logs":
		lines, err := client.Logs(ctx, c.id())
		return object{"items": lines}, err
	case "cancel":
		return client.Cancel(ctx, c.id(), c.Reason)
	case "retry":
		return client.Retry(ctx, c.id())
	case "delete":
		return object{}, client.Delete(ctx, c.id(), c.options()...)
	case "worker":
		return p.startWorker(client, c)
	case "stop":
		return p.stopWorker(c.Name)
	}
	if value, done, err := c.doRest(ctx, client); done {
		return value, err
	}
	switch {
	case strings.Contains(c.Do, "workflow"), strings.Contains(c.Do, "member"):
		return c.doWorkflow(ctx, client)
	case strings.Contains(c.Do, "queue"):
		return c.doQueue(ctx, client)
	case strings.Contains(c.Do, "limit"):
		return c.doLimit(ctx, client)
	case strings.Contains(c.Do, "operation"):
		return c.doOperation(ctx, client)
	}
	return c.doSchedule(ctx, client)
}

func (c *command) options() []millrace.CallOption {
	var options []millrace.CallOption
	if c.IfMatch != nil {
		options = append(options, millrace.IfMatch(*c.IfMatch))
	}
	if c.Force {
		options = append(options, millrace.Force())
	}
	return options
}

func (c *command) submitBatch(ctx context.Context, client millrace.Submitter) (any, error) {
	var options []millrace.BatchOption
	if c.Atomic {
		options = append(options, millrace.Atomic())
	}
	items, err := client.SubmitBatch(ctx, c.Jobs, options...)
	if err != nil {
		return nil, err
	}
	shown := make([]object, len(items))
	for i, item := range items {
		shown[i] = object{"status": item.Status, "id": orNull(item.ID), "state": orNull(string(item.State)), "error": nil}
		if item.Err != nil {
			shown[i]["error"] = describe(item.Err)
		}
	}
	return object{"items": shown}, nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (p *program) startWorker(client *millrace.Client, c *command) (any, error) {
	options := []millrace.WorkerOption{}
	if len(c.Queues) > 0 {
		options = append(options, millrace.Queues(c.Queues...))
	}
	if c.Concurrency > 0 {
		options = append(options, millrace.Concurrency(c.Concurrency))
	}
	if c.LeaseMs > 0 {
		options = append(options, millrace.Lease(ms(c.LeaseMs)))
	}
	if c.PollWaitMs > 0 {
		options = append(options, millrace.PollWait(ms(c.PollWaitMs)))
	}
	if c.GraceMs != nil {
		options = append(options, millrace.Grace(ms(*c.GraceMs)))
	}
	if c.Version != "" {
		options = append(options, millrace.WorkerVersion(c.Version))
	}
	worker := client.Worker(options...)
	if c.Middleware {
		worker.Use(p.middleware)
	}
	for _, name := range c.Types {
		worker.Register(name, p.handler(c.Name, client))
	}
	r := &running{worker: worker, ended: make(chan struct{})}
	p.mutex.Lock()
	p.workers[c.Name] = r
	p.mutex.Unlock()
	go func() {
		defer close(r.ended)
		err := worker.Run(context.Background())
		shown := object{"worker": c.Name, "error": nil}
		if err != nil {
			shown["error"] = describe(err)
		}
		p.event("worker_ended", shown)
	}()
	return object{"worker_id": worker.ID()}, nil
}

func (p *program) stopWorker(name string) (any, error) {
	r := p.all()[name]
	if r == nil {
		return nil, fmt.Errorf("there is no worker %q", name)
	}
	r.worker.Stop()
	<-r.ended
	return object{}, nil
}
