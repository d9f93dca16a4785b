package millrace

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NoFair returns a Fair for QueueSettings that turns sharing off.
func NoFair() *Fair { return &Fair{Off: true} }

// NoAgeing returns an Ageing for QueueSettings that never raises a priority: priorities are strict.
func NoAgeing() *time.Duration { return Ptr(Forever) }

// NoRate returns a Rate for QueueSettings without a bound.
func NoRate() *Rate { return &Rate{} }

// NoBreaker returns a Breaker for QueueSettings that never opens.
func NoBreaker() *Breaker { return &Breaker{} }

const (
	// JobsOwn as MaxCrashes stands for the job's MaxAttempts.
	JobsOwn = -1
	// Forever as a time of Retention keeps jobs without end.
	Forever time.Duration = -1
)

// Unbounded returns the value without a bound for MaxReady, Concurrency and MaxReadyPerKey.
func Unbounded() *int { return Ptr(-1) }

// Ptr returns a pointer to a copy of a value, for members that distinguish 0 from "not set".
func Ptr[T any](value T) *T { return &value }

// PageOf chooses a page of a list.
type PageOf struct {
	Limit  int    // 1 to 1000; 0: 50
	Cursor string // the NextCursor of the previous page
}

func (p *PageOf) set(q query) {
	q.setInt("limit", p.Limit)
	q.set("cursor", p.Cursor)
}

// Queues returns a page of the queues, by name.
func (c *Client) Queues(ctx context.Context, page PageOf) (*Page[QueueInfo], error) {
	q := query{}
	page.set(q)
	request := get("/v1/queues")
	request.query = url.Values(q)
	return fetch[Page[QueueInfo]](ctx, c, request)
}

func queuePath(name, rest string) string { return "/v1/queues/" + url.PathEscape(name) + rest }

// Queue returns a queue.
func (c *Client) Queue(ctx context.Context, name string) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, get(queuePath(name, "")))
}

// PutQueue creates a queue or replaces its settings. It accepts IfMatch.
func (c *Client) PutQueue(
	ctx context.Context, name string, settings QueueSettings, options ...CallOption,
) (*QueueInfo, error) {
	return c.setQueue(ctx, http.MethodPut, name, settings, options)
}

// PatchQueue changes the settings that are neither nil nor zero. It accepts IfMatch and Create. The
// call is not retried if the server may have begun it.
func (c *Client) PatchQueue(
	ctx context.Context, name string, settings QueueSettings, options ...CallOption,
) (*QueueInfo, error) {
	return c.setQueue(ctx, http.MethodPatch, name, settings, options)
}

func (c *Client) setQueue(
	ctx context.Context, method, name string, settings QueueSettings, options []CallOption,
) (*QueueInfo, error) {
	body, err := settings.append(nil)
	if err != nil {
		return nil, notJSON(err, "/retry")
	}
	request := call{method: method, path: queuePath(name, ""), body: body, once: method == http.MethodPatch}
	return fetch[QueueInfo](ctx, c, request, options...)
}

// PauseQueue stops the queue from handing out jobs. It still accepts submissions. The reason is for
// people, at most 1,024 bytes; it may be empty. PauseQueue accepts Create.
func (c *Client) PauseQueue(ctx context.Context, name, reason string, options ...CallOption) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, post(queuePath(name, "/pause"), reasonBody(reason)), options...)
}

// ResumeQueue makes the queue hand out jobs again.
func (c *Client) ResumeQueue(ctx context.Context, name string) (*QueueInfo, error) {
	return fetch[QueueInfo](ctx, c, post(queuePath(name, "/resume"), nil))
}

// DeleteQueue deletes a queue that has no jobs. With Force it also deletes the jobs, unless some are
// running.
func (c *Client) DeleteQueue(ctx context.Context, name string, options ...CallOption) error {
	return c.delete(ctx, queuePath(name, ""), options)
}
