package millrace

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits returns a page of the limits, by name, with their use.
func (c *Client) Limits(ctx context.Context, page PageOf) (*Page[Limit], error) {
	q := query{}
	page.set(q)
	request := get("/v1/limits")
	request.query = url.Values(q)
	return fetch[Page[Limit]](ctx, c, request)
}

func limitPath(name, rest string) string { return "/v1/limits/" + url.PathEscape(name) + rest }

// Limit returns a limit with its use now.
func (c *Client) Limit(ctx context.Context, name string) (*Limit, error) {
	return fetch[Limit](ctx, c, get(limitPath(name, "")))
}

// PutLimit makes a limit or replaces its settings. Jobs that name it start only while it lets them. It
// accepts IfMatch.
func (c *Client) PutLimit(
	ctx context.Context, name string, settings LimitSettings, options ...CallOption,
) (*Limit, error) {
	return c.setLimit(ctx, http.MethodPut, name, settings, options)
}

// PatchLimit changes the settings that are neither nil nor zero. It accepts IfMatch. The call is not
// retried if the server may have begun it.
func (c *Client) PatchLimit(
	ctx context.Context, name string, settings LimitSettings, options ...CallOption,
) (*Limit, error) {
	return c.setLimit(ctx, http.MethodPatch, name, settings, options)
}

func (c *Client) setLimit(
	ctx context.Context, method, name string, settings LimitSettings, options []CallOption,
) (*Limit, error) {
	body, err := settings.append(nil)
	if err != nil {
		return nil, notJSON(err, "")
	}
	request := call{method: method, path: limitPath(name, ""), body: body, once: method == http.MethodPatch}
	return fetch[Limit](ctx, c, request, options...)
}

// LimitPause says what of a limit to pause.
type LimitPause struct {
	Reason string        // for people, at most 1,024 bytes
	Key    string        // empty: the whole limit
	For    time.Duration // 0: until it is resumed
}

// PauseLimit lets no job pass a limit, or one key of it.
func (c *Client) PauseLimit(ctx context.Context, name string, pause LimitPause) (*Limit, error) {
	m := openObject(nil)
	m.maybeText("reason", pause.Reason)
	m.maybeText("key", pause.Key)
	m.maybeMs("for_ms", pause.For)
	return fetch[Limit](ctx, c, post(limitPath(name, "/pause"), m.close()))
}

// ResumeLimit lets jobs pass a limit again, or one key of it; an empty key is the whole limit.
func (c *Client) ResumeLimit(ctx context.Context, name, key string) (*Limit, error) {
	m := openObject(nil)
	m.maybeText("key", key)
	return fetch[Limit](ctx, c, post(limitPath(name, "/resume"), m.close()))
}

// DeleteLimit deletes a limit; with Force, even if jobs name it. It accepts IfMatch.
func (c *Client) DeleteLimit(ctx context.Context, name string, options ...CallOption) error {
	return c.delete(ctx, limitPath(name, ""), options)
}

// BulkAnswer is what a change of many jobs has done.
type BulkAnswer struct {
	Matched int         `json:"matched"`
	Changed int         `json:"changed"`
	Failed  int         `json:"failed"` // were left alone
	More    bool        `json:"more"`   // more jobs match
	Results []BatchItem `json:"results,omitempty"`
	// Operation is the operation that does the work, if the server began one; the other members are
	// zero then.
	Operation *Operation `json:"-"`
}

// Bulk retries, cancels, deletes or reprioritizes many jobs, by IDs or by a Filter. If the request asks
// for an operation or very many jobs match, the answer has an Operation, which goes on by itself. The
// call is not retried if the server may have begun it.
func (c *Client) Bulk(ctx context.Context, of Bulk) (*BulkAnswer, error) {
	body, err := of.append(nil)
	if err != nil {
		return nil, notJSON(err, "")
	}
	request := post("/v1/jobs/bulk", body)
	request.once = true
	var raw json.RawMessage
	status, err := c.do(ctx, request, &raw)
	if err != nil {
		return nil, err
	}
	answer := new(BulkAnswer)
	if status == http.StatusAccepted {
		answer.Operation = new(Operation)
		err = json.Unmarshal(raw, answer.Operation)
	} else {
		err = json.Unmarshal(raw, answer)
	}
	if err != nil {
		return nil, badAnswer(status, err)
	}
	return answer, nil
}

// OperationFilter chooses operations. The zero value chooses all.
type OperationFilter struct {
	State string // running, paused, completed, cancelled or failed
	PageOf
}

// Operations returns a page of the operations on many jobs, newest first.
func (c *Client) Operations(ctx context.Context, filter OperationFilter) (*Page[Operation], error) {
	q := query{}
	q.set("state", filter.State)
	filter.PageOf.set(q)
	request := get("/v1/operations")
	request.query = url.Values(q)
	return fetch[Page[Operation]](ctx, c, request)
}

func operationPath(id, rest string) string { return "/v1/operations/" + url.PathEscape(id) + rest }

// Operation returns an operation with its progress.
func (c *Client) Operation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, get(operationPath(id, "")))
}

// PauseOperation stops an operation until it is resumed.
func (c *Client) PauseOperation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, post(operationPath(id, "/pause"), nil))
}

// ResumeOperation lets a paused operation go on.
func (c *Client) ResumeOperation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, post(operationPath(id, "/resume"), nil))
}

// CancelOperation ends an operation; what it has done stays.
func (c *Client) CancelOperation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, post(operationPath(id, "/cancel"), nil))
}

// Workers returns a page of the workers that the server has heard of lately.
func (c *Client) Workers(ctx context.Context, page PageOf) (*Page[WorkerInfo], error) {
	q := query{}
	page.set(q)
	request := get("/v1/workers")
	request.query = url.Values(q)
	return fetch[Page[WorkerInfo]](ctx, c, request)
}

// EventFilter chooses events. The zero value chooses all.
type EventFilter struct {
	Job    string // its id
	Types  []string
	Queues []string
	Wait   time.Duration // for the next event, at most a minute
	// The cursor "end" begins behind the newest event.
	PageOf
}

// Events returns a page of events, oldest first. Its NextCursor, which is never empty, leads to later
// events.
func (c *Client) Events(ctx context.Context, filter EventFilter) (*Page[Event], error) {
	q := query{}
	q.set("job", filter.Job)
	q.set("types", strings.Join(filter.Types, ","))
	q.set("queues", strings.Join(filter.Queues, ","))
	q.setInt("wait_ms", int(milliseconds(filter.Wait)))
	filter.PageOf.set(q)
	request := get("/v1/events")
	request.query, request.patience = url.Values(q), filter.Wait
	return fetch[Page[Event]](ctx, c, request)
}

// StatsOf chooses statistics. The zero value chooses the last hour, as one group.
type StatsOf struct {
	Window time.Duration // how far back; 0: an hour
	Step   time.Duration // the width of a column; 0: by the window
	By     string        // one group for each queue, type, fair_key or tag
	Name   string        // only the group of this name; only with By
}

// Stats returns numbers of events in columns of time, and percentiles of times.
func (c *Client) Stats(ctx context.Context, of StatsOf) (*Stats, error) {
	q := query{}
	q.setInt("window_ms", int(milliseconds(of.Window)))
	q.setInt("step_ms", int(milliseconds(of.Step)))
	q.set("by", of.By)
	q.set("name", of.Name)
	request := get("/v1/stats")
	request.query = url.Values(q)
	return fetch[Stats](ctx, c, request)
}

// Why returns why a job is not running.
func (c *Client) Why(ctx context.Context, id string) (*Why, error) {
	return fetch[Why](ctx, c, get(jobPath(id, "/why")))
}

// Call sends any other call, with the client's token, tries and errors, and returns the answer's JSON;
// nil if it has no body. Names are the API's. A nil body is none; a json.RawMessage is sent as it is. A
// POST or PATCH is not retried if the server may have begun it.
func (c *Client) Call(
	ctx context.Context, method, path string, query url.Values, body any,
) (json.RawMessage, error) {
	request := call{method: method, path: path, query: query}
	request.once = method == http.MethodPost || method == http.MethodPatch
	if body != nil {
		var err error
		if request.body, err = marshal(body); err != nil {
			return nil, notJSON(err, "")
		}
	}
	status, raw, _, err := c.tryRaw(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, badAnswer(status, errNotJSON)
	}
	return raw, nil
}
