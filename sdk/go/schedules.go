package millrace

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// ScheduleFilter selects schedules. The zero value selects all.
type ScheduleFilter struct {
	ManagedBy *string // the owner; "": schedules without an owner; nil: all
	Queue     string  // of the jobs
	PageOf
}

// Schedules returns a page of the schedules, by name.
func (c *Client) Schedules(ctx context.Context, filter ScheduleFilter) (*Page[Schedule], error) {
	q := query{}
	if filter.ManagedBy != nil {
		q["managed_by"] = []string{*filter.ManagedBy}
	}
	q.set("queue", filter.Queue)
	filter.PageOf.set(q)
	request := get("/v1/schedules")
	request.query = url.Values(q)
	return fetch[Page[Schedule]](ctx, c, request)
}

func schedulePath(name, rest string) string { return "/v1/schedules/" + url.PathEscape(name) + rest }

// Schedule returns a schedule.
func (c *Client) Schedule(ctx context.Context, name string) (*Schedule, error) {
	return fetch[Schedule](ctx, c, get(schedulePath(name, "")))
}

// PutSchedule creates a schedule or replaces its specification. An equal specification changes
// nothing. PutSchedule accepts IfMatch.
func (c *Client) PutSchedule(
	ctx context.Context, name string, spec ScheduleSpec, options ...CallOption,
) (*Schedule, error) {
	body, err := spec.MarshalJSON()
	if err != nil {
		return nil, notJSON(err, "/job/payload")
	}
	request := call{method: http.MethodPut, path: schedulePath(name, ""), body: body}
	return fetch[Schedule](ctx, c, request, options...)
}

// DeleteSchedule deletes a schedule; its jobs remain. It accepts IfMatch.
func (c *Client) DeleteSchedule(ctx context.Context, name string, options ...CallOption) error {
	return c.delete(ctx, schedulePath(name, ""), options)
}

// PauseSchedule stops a schedule from firing. The reason is for people, at most 1,024 bytes; it may be
// empty.
func (c *Client) PauseSchedule(ctx context.Context, name, reason string) (*Schedule, error) {
	return fetch[Schedule](ctx, c, post(schedulePath(name, "/pause"), reasonBody(reason)))
}

// ResumeSchedule makes a schedule fire again, starting at its next instant.
func (c *Client) ResumeSchedule(ctx context.Context, name string) (*Schedule, error) {
	return fetch[Schedule](ctx, c, post(schedulePath(name, "/resume"), nil))
}

// TriggerSchedule submits one job of the schedule now. The job's instant is scheduledAt; zero means
// now.
func (c *Client) TriggerSchedule(ctx context.Context, name string, scheduledAt time.Time) (*Submitted, error) {
	m := openObject(nil)
	m.maybeTime("scheduled_at", scheduledAt)
	request := post(schedulePath(name, "/trigger"), m.close())
	request.header = onceKey()
	submitted := new(Submitted)
	status, err := c.do(ctx, request, &submitted.Job)
	if err != nil {
		return nil, err
	}
	submitted.IsNew = status == http.StatusCreated
	return submitted, nil
}

// onceKey makes a call that submits jobs idempotent.
func onceKey() [][2]string { return keyHeader(MakeID("")) }

// BackfillSchedule submits the jobs of a past range, oldest first.
func (c *Client) BackfillSchedule(ctx context.Context, name string, of Backfill) (*Backfilled, error) {
	body, err := of.append(nil)
	if err != nil {
		return nil, err
	}
	request := post(schedulePath(name, "/backfill"), body)
	request.header = onceKey()
	return fetch[Backfilled](ctx, c, request)
}

// ScheduleRuns returns the last 100 runs of a schedule, newest first.
func (c *Client) ScheduleRuns(ctx context.Context, name string) ([]ScheduleRun, error) {
	page, err := fetch[Page[ScheduleRun]](ctx, c, get(schedulePath(name, "/runs")))
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// PreviewSchedule returns the description and the next instants of an expression. It changes nothing.
func (c *Client) PreviewSchedule(ctx context.Context, preview Preview) (*Previewed, error) {
	body, err := preview.append(nil)
	if err != nil {
		return nil, err
	}
	return fetch[Previewed](ctx, c, post("/v1/schedules/preview", body))
}

// ApplySchedules creates the schedules that are missing, changes those that differ, and leaves the
// others unchanged.
func (c *Client) ApplySchedules(ctx context.Context, set ScheduleSet) (*Applied, error) {
	if set.Schedules == nil {
		set.Schedules = map[string]ScheduleSpec{}
	}
	body, err := marshal(set)
	if err != nil {
		return nil, notJSON(err, "/schedules")
	}
	return fetch[Applied](ctx, c, call{method: http.MethodPut, path: "/v1/schedules", body: body})
}
