package millrace

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// ScheduleSpec is the specification of a schedule. Exactly one of Cron and Every is required.
type ScheduleSpec struct {
	// Cron has five fields (minute, hour, day of month, month, day of week), or six with the second
	// first; or it is @daily and its like. At most 512 bytes.
	Cron string
	// Every is an interval of 1 s to 10 years, counted from StartAt, else from 1970.
	Every time.Duration
	// Timezone is the IANA name of the time zone that Cron follows. Empty means UTC.
	Timezone string
	// Job is the job to submit. It has no ID, RunAt, Delay or IdempotencyKey, and a payload of at most
	// 64 KiB.
	Job NewJob
	// StartAt and EndAt bound the instants, both inclusive. Zero means no bound.
	StartAt, EndAt time.Time
	// Jitter is the maximum random delay of a job after its instant, at most 24 h.
	Jitter time.Duration
	// MissedAfter is the delay after which an instant counts as missed, 1 s to 24 h. 0 means a minute.
	MissedAfter time.Duration
	// Missed says which missed instants fire: none ("skip"), the latest ("one", the default), or all
	// ("all"), at most MissedLimit.
	Missed string
	// MissedLimit is 1 to 1000. 0 means 100.
	MissedLimit int
	// Overlap says what happens if the previous job has not ended: "allow" (the default), "skip",
	// "queue" or "replace".
	Overlap string
	// DSTGap says what happens at a local time that the clock skips: "run" (the default) or "skip".
	DSTGap string
	// DSTOverlap says how often a local time that occurs twice fires: "once" (the default) or "twice".
	DSTOverlap string
	// Paused pauses or resumes the schedule. Nil leaves it unchanged; a new one is not paused.
	Paused *bool
	// ManagedBy is the schedule's owner, for ApplySchedules and lists. It may be empty.
	ManagedBy string
}

// wireSpec is the API's form of a specification.
type wireSpec struct {
	Cron          wireText `json:"cron"`
	EveryMs       wireMs   `json:"every_ms"`
	Timezone      string   `json:"timezone,omitempty"`
	Job           NewJob   `json:"job"`
	StartAt       wireTime `json:"start_at"`
	EndAt         wireTime `json:"end_at"`
	JitterMs      int64    `json:"jitter_ms"`
	MissedAfterMs int64    `json:"missed_after_ms,omitempty"`
	Missed        string   `json:"missed,omitempty"`
	MissedLimit   int      `json:"missed_limit,omitempty"`
	Overlap       string   `json:"overlap,omitempty"`
	DSTGap        string   `json:"dst_gap,omitempty"`
	DSTOverlap    string   `json:"dst_overlap,omitempty"`
	Paused        *bool    `json:"paused,omitempty"`
	ManagedBy     wireText `json:"managed_by"`
}

func (s *ScheduleSpec) wire() wireSpec {
	return wireSpec{
		wireText(s.Cron), wireMs(s.Every), s.Timezone, s.Job, wireTime(s.StartAt), wireTime(s.EndAt),
		milliseconds(s.Jitter), milliseconds(s.MissedAfter), s.Missed, s.MissedLimit, s.Overlap, s.DSTGap,
		s.DSTOverlap, s.Paused, wireText(s.ManagedBy),
	}
}

func (w *wireSpec) spec() ScheduleSpec {
	return ScheduleSpec{
		string(w.Cron), time.Duration(w.EveryMs), w.Timezone, w.Job, time.Time(w.StartAt), time.Time(w.EndAt),
		durationOf(w.JitterMs), durationOf(w.MissedAfterMs), w.Missed, w.MissedLimit, w.Overlap, w.DSTGap,
		w.DSTOverlap, w.Paused, string(w.ManagedBy),
	}
}

// MarshalJSON writes the API's form.
func (s ScheduleSpec) MarshalJSON() ([]byte, error) { return marshal(s.wire()) }

// UnmarshalJSON reads the API's form. The payload of the job becomes a json.RawMessage.
func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	var w wireSpec
	err := json.Unmarshal(data, &w)
	*s = w.spec()
	return err
}

// Schedule is a schedule as the server shows it.
type Schedule struct {
	Name string
	ScheduleSpec
	Version int64 // rises with every change of the specification, pause or resume
	// State is active, paused, ended (no instant is left) or broken (Error says why).
	State  string
	Reason string // of the pause; empty if none was given
	Error  string
	// CreatedAt and UpdatedAt are the instants of the creation and of the last change of Version.
	CreatedAt, UpdatedAt time.Time
	// LastScheduledAt is the latest instant that created a job, and LastJobID that job. They are zero
	// before the first one.
	LastScheduledAt time.Time
	LastJobID       string
	Next            []time.Time // the next instants, at most five
	Description     string      // the instants in plain words
	Warnings        []string    // valid settings that are probably mistakes
}

type wireSchedule struct {
	Name string `json:"name"`
	wireSpec
	Version         int64      `json:"version"`
	State           string     `json:"state"`
	Reason          wireText   `json:"reason"`
	Error           wireText   `json:"error"`
	CreatedAt       wireTime   `json:"created_at"`
	UpdatedAt       wireTime   `json:"updated_at"`
	LastScheduledAt wireTime   `json:"last_scheduled_at"`
	LastJobID       wireText   `json:"last_job_id"`
	Next            []wireTime `json:"next"`
	Description     string     `json:"description"`
	Warnings        []string   `json:"warnings,omitempty"`
}

// UnmarshalJSON reads the API's form.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	var w wireSchedule
	err := json.Unmarshal(data, &w)
	*s = Schedule{
		w.Name, w.spec(), w.Version, w.State, string(w.Reason), string(w.Error), time.Time(w.CreatedAt),
		time.Time(w.UpdatedAt), time.Time(w.LastScheduledAt), string(w.LastJobID), times(w.Next), w.Description,
		w.Warnings,
	}
	return err
}

// MarshalJSON writes the API's form.
func (s Schedule) MarshalJSON() ([]byte, error) {
	return marshal(wireSchedule{
		s.Name, s.wire(), s.Version, s.State, wireText(s.Reason), wireText(s.Error), wireTime(s.CreatedAt),
		wireTime(s.UpdatedAt), wireTime(s.LastScheduledAt), wireText(s.LastJobID), wireTimes(s.Next), s.Description,
		s.Warnings,
	})
}

func times(from []wireTime) []time.Time {
	to := make([]time.Time, len(from))
	for i, t := range from {
		to[i] = time.Time(t)
	}
	return to
}

func wireTimes(from []time.Time) []wireTime {
	to := make([]wireTime, len(from))
	for i, t := range from {
		to[i] = wireTime(t)
	}
	return to
}

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
func onceKey() [][2]string { return [][2]string{{"Idempotency-Key", MakeID("")}} }

// Backfill is a past range of instants for which jobs are to be submitted.
type Backfill struct {
	From, To time.Time // From is inclusive, To exclusive and not later than now
	Limit    int       // the maximum number of jobs of this call, 1 to 1000; 0: 1000
	DryRun   bool      // count only
	Rerun    bool      // include instants older than the queue's retention, which may have run
}

// Backfilled is the answer to a backfill.
type Backfilled struct {
	Submitted int  `json:"submitted"` // new jobs
	Existing  int  `json:"existing"`  // instants whose job still exists
	More      bool `json:"more"`      // instants remain: repeat the call
}

// BackfillSchedule submits the jobs of a past range, oldest first.
func (c *Client) BackfillSchedule(ctx context.Context, name string, of Backfill) (*Backfilled, error) {
	m := openObject(nil)
	m.maybeTime("from", of.From)
	m.maybeTime("to", of.To)
	m.maybeNumber("limit", of.Limit)
	m.maybeBoolean("dry_run", of.DryRun)
	m.maybeBoolean("rerun", of.Rerun)
	request := post(schedulePath(name, "/backfill"), m.close())
	request.header = onceKey()
	return fetch[Backfilled](ctx, c, request)
}

// ScheduleRun is the result of one instant of a schedule.
type ScheduleRun struct {
	ScheduledAt time.Time // the instant
	At          time.Time // when the result was decided
	JobID       string    // empty if there is no job
	// Outcome is submitted, replaced, skipped_overlap, skipped_missed or refused.
	Outcome string
	Count   int    // for skipped_missed: the number of instants, if not one
	Error   string // for refused: the reason
}

type wireRun struct {
	ScheduledAt wireTime `json:"scheduled_at"`
	At          wireTime `json:"at"`
	JobID       wireText `json:"job_id"`
	Outcome     string   `json:"outcome"`
	Count       int      `json:"count,omitempty"`
	Error       string   `json:"error,omitempty"`
}

// UnmarshalJSON reads the API's form.
func (r *ScheduleRun) UnmarshalJSON(data []byte) error {
	var w wireRun
	err := json.Unmarshal(data, &w)
	*r = ScheduleRun{time.Time(w.ScheduledAt), time.Time(w.At), string(w.JobID), w.Outcome, w.Count, w.Error}
	return err
}

// MarshalJSON writes the API's form.
func (r ScheduleRun) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireRun{
		wireTime(r.ScheduledAt), wireTime(r.At), wireText(r.JobID), r.Outcome, r.Count, r.Error,
	})
}

// ScheduleRuns returns the last 100 runs of a schedule, newest first.
func (c *Client) ScheduleRuns(ctx context.Context, name string) ([]ScheduleRun, error) {
	page, err := fetch[Page[ScheduleRun]](ctx, c, get(schedulePath(name, "/runs")))
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// Preview asks for the instants of an expression. Exactly one of Cron and Every is required.
type Preview struct {
	Cron               string
	Every              time.Duration
	Timezone           string    // empty: UTC
	From               time.Time // zero: now
	Count              int       // 1 to 1000; 0: 5
	DSTGap, DSTOverlap string    // as in ScheduleSpec
}

type wirePreview struct {
	Cron       string   `json:"cron"`
	EveryMs    wireMs   `json:"every_ms"`
	Timezone   string   `json:"timezone"`
	From       wireTime `json:"from"`
	Count      int      `json:"count"`
	DSTGap     string   `json:"dst_gap"`
	DSTOverlap string   `json:"dst_overlap"`
}

// UnmarshalJSON reads the API's form.
func (p *Preview) UnmarshalJSON(data []byte) error {
	var w wirePreview
	err := json.Unmarshal(data, &w)
	*p = Preview{w.Cron, time.Duration(w.EveryMs), w.Timezone, time.Time(w.From), w.Count, w.DSTGap, w.DSTOverlap}
	return err
}

// MarshalJSON writes the API's form.
func (p Preview) MarshalJSON() ([]byte, error) {
	m := openObject(nil)
	m.maybeText("cron", p.Cron)
	m.maybeMs("every_ms", p.Every)
	m.maybeText("timezone", p.Timezone)
	m.maybeTime("from", p.From)
	m.maybeNumber("count", p.Count)
	m.maybeText("dst_gap", p.DSTGap)
	m.maybeText("dst_overlap", p.DSTOverlap)
	return m.close(), nil
}

// Previewed is the answer to a preview.
type Previewed struct {
	Description string      `json:"description"` // the instants in plain words
	Next        []time.Time `json:"next"`        // oldest first
	Warnings    []string    `json:"warnings,omitempty"`
}

// MarshalJSON writes the API's form.
func (p Previewed) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Description string     `json:"description"`
		Next        []wireTime `json:"next"`
		Warnings    []string   `json:"warnings,omitempty"`
	}{p.Description, wireTimes(p.Next), p.Warnings})
}

// PreviewSchedule returns the description and the next instants of an expression. It changes nothing.
func (c *Client) PreviewSchedule(ctx context.Context, preview Preview) (*Previewed, error) {
	body, err := preview.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return fetch[Previewed](ctx, c, post("/v1/schedules/preview", body))
}

// ScheduleSet is the complete set of an owner's schedules.
type ScheduleSet struct {
	ManagedBy string                  `json:"managed_by"` // the owner
	Schedules map[string]ScheduleSpec `json:"schedules"`  // by name, at most 10,000
	Prune     bool                    `json:"prune"`      // delete the owner's others
	DryRun    bool                    `json:"dry_run"`    // change nothing, but answer the same
	Force     bool                    `json:"force"`      // take over schedules of other owners
}

// Applied lists the names of the schedules of a set by the change made to each.
type Applied struct {
	Created   []string `json:"created"`
	Updated   []string `json:"updated"`
	Unchanged []string `json:"unchanged"`
	Deleted   []string `json:"deleted"`
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
