package millracetest

import (
	"context"
	"encoding/json"
	"net/http"
	"sort"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

// setup holds the queues, limits and schedules that an application declares at its start, by name.
type setup struct {
	queues    map[string]*millrace.QueueInfo
	limits    map[string]*millrace.Limit
	schedules map[string]*millrace.Schedule
}

func newSetup() setup {
	return setup{
		queues: map[string]*millrace.QueueInfo{}, limits: map[string]*millrace.Limit{},
		schedules: map[string]*millrace.Schedule{},
	}
}

func missing(kind, name string) *millrace.Error {
	return refusal(http.StatusNotFound, "not_found", "there is no "+kind+" "+name)
}

// isSame compares the API's forms.
func isSame(one, other any) bool {
	a, errA := json.Marshal(one)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && string(a) == string(b)
}

// complete gives a job the settings of its queue for members that it does not set. The caller holds
// the mutex.
func (s *setup) complete(job *millrace.NewJob) {
	queue := s.queues[job.Queue]
	if queue == nil {
		return
	}
	if job.MaxAttempts == 0 {
		job.MaxAttempts = queue.Settings.MaxAttempts
	}
	if job.Retry == nil {
		job.Retry = queue.Settings.Retry
	}
	if job.Lease == 0 {
		job.Lease = queue.Settings.Lease
	}
}

// checkRoom refuses a job that its queue has no room for. The caller holds the mutex.
func (f *Fake) checkRoom(name string) *millrace.Error {
	queue := f.setup.queues[name]
	if queue == nil || queue.Settings.MaxReady == nil || *queue.Settings.MaxReady < 0 {
		return nil
	}
	ready := 0
	for _, e := range f.jobs {
		if e.job.Queue == name && e.job.State == millrace.Ready {
			ready++
		}
	}
	if ready < *queue.Settings.MaxReady {
		return nil
	}
	return refusal(http.StatusTooManyRequests, "queue_full", "the queue "+name+" is full")
}

// unknownLimit refuses a job or a queue that names a limit that does not exist. The caller holds the mutex.
func (s *setup) unknownLimit(name string) *millrace.Error {
	if s.limits[name] != nil {
		return nil
	}
	const message = "no limit has this name; check the spelling, or create the limit"
	return refusal(http.StatusUnprocessableEntity, "unknown_limit", message)
}

// PutQueue creates a queue or replaces its settings, as Client.PutQueue does. The bounds on its jobs
// that are ready, their attempts, retries and leases count.
func (f *Fake) PutQueue(
	_ context.Context, name string, settings millrace.QueueSettings, _ ...millrace.CallOption,
) (*millrace.QueueInfo, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, limit := range settings.Limits {
		if refused := f.setup.unknownLimit(limit.Name); refused != nil {
			return nil, refused
		}
	}
	queue := &millrace.QueueInfo{Name: name, Settings: settings, Version: 1}
	if known := f.setup.queues[name]; known != nil {
		queue.Version = known.Version
		if !isSame(known.Settings, settings) {
			queue.Version++
		}
	}
	f.setup.queues[name] = queue
	shown := *queue
	return &shown, nil
}

// Queue returns a queue that was put.
func (f *Fake) Queue(_ context.Context, name string) (*millrace.QueueInfo, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	queue := f.setup.queues[name]
	if queue == nil {
		return nil, missing("queue", name)
	}
	shown := *queue
	return &shown, nil
}

// PutLimit makes a limit or replaces its settings, as Client.PutLimit does. It holds nothing back.
func (f *Fake) PutLimit(
	_ context.Context, name string, settings millrace.LimitSettings, _ ...millrace.CallOption,
) (*millrace.Limit, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	limit := &millrace.Limit{
		Name: name, Version: 1, PerKey: settings.PerKey, Keys: settings.Keys, Rate: settings.Rate,
		Breaker: settings.Breaker, RetryRate: settings.RetryRate,
	}
	if settings.Concurrency != nil {
		limit.Concurrency = max(*settings.Concurrency, 0)
	}
	if known := f.setup.limits[name]; known != nil {
		limit.Version = known.Version
		if !isSame(known, limit) {
			limit.Version++
		}
	}
	f.setup.limits[name] = limit
	shown := *limit
	return &shown, nil
}

// Limit returns a limit that was put.
func (f *Fake) Limit(_ context.Context, name string) (*millrace.Limit, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	limit := f.setup.limits[name]
	if limit == nil {
		return nil, missing("limit", name)
	}
	shown := *limit
	return &shown, nil
}

// PutSchedule creates a schedule or replaces its specification, as Client.PutSchedule does. It fires by
// TriggerSchedule alone.
func (f *Fake) PutSchedule(
	_ context.Context, name string, spec millrace.ScheduleSpec, _ ...millrace.CallOption,
) (*millrace.Schedule, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.put(name, spec)
	shown := *f.setup.schedules[name]
	return &shown, nil
}

// put stores a schedule. The caller holds the mutex.
func (f *Fake) put(name string, spec millrace.ScheduleSpec) {
	known := f.setup.schedules[name]
	if known != nil && isSame(known.ScheduleSpec, spec) {
		return
	}
	made := &millrace.Schedule{
		Name: name, Version: 1, State: "active", CreatedAt: f.now, UpdatedAt: f.now, ScheduleSpec: spec,
	}
	if known != nil {
		made.Version, made.CreatedAt = known.Version+1, known.CreatedAt
	}
	f.setup.schedules[name] = made
}

// Schedule returns a schedule that was put or applied.
func (f *Fake) Schedule(_ context.Context, name string) (*millrace.Schedule, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	schedule := f.setup.schedules[name]
	if schedule == nil {
		return nil, missing("schedule", name)
	}
	shown := *schedule
	return &shown, nil
}

// DeleteSchedule deletes a schedule.
func (f *Fake) DeleteSchedule(_ context.Context, name string, _ ...millrace.CallOption) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.setup.schedules[name] == nil {
		return missing("schedule", name)
	}
	delete(f.setup.schedules, name)
	return nil
}

// ApplySchedules applies the set of an owner, as Client.ApplySchedules does.
func (f *Fake) ApplySchedules(_ context.Context, set millrace.ScheduleSet) (*millrace.Applied, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	applied := &millrace.Applied{Created: []string{}, Updated: []string{}, Unchanged: []string{}, Deleted: []string{}}
	for name, spec := range set.Schedules {
		if spec.ManagedBy == "" {
			spec.ManagedBy = set.ManagedBy
		}
		known := f.setup.schedules[name]
		switch {
		case known == nil:
			applied.Created = append(applied.Created, name)
		case isSame(known.ScheduleSpec, spec):
			applied.Unchanged = append(applied.Unchanged, name)
		default:
			applied.Updated = append(applied.Updated, name)
		}
		if !set.DryRun {
			f.put(name, spec)
		}
	}
	for name, known := range f.setup.schedules {
		if _, stays := set.Schedules[name]; !set.Prune || stays || known.ManagedBy != set.ManagedBy {
			continue
		}
		applied.Deleted = append(applied.Deleted, name)
		if !set.DryRun {
			delete(f.setup.schedules, name)
		}
	}
	for _, names := range [][]string{applied.Created, applied.Updated, applied.Unchanged, applied.Deleted} {
		sort.Strings(names)
	}
	return applied, nil
}

// TriggerSchedule submits one job of the schedule.
func (f *Fake) TriggerSchedule(ctx context.Context, name string, _ time.Time) (*millrace.Submitted, error) {
	schedule, err := f.Schedule(ctx, name)
	if err != nil {
		return nil, err
	}
	return f.Submit(ctx, schedule.Job)
}
