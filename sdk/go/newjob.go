package millrace

import "time"

// NoDelay as Base or Max of a RetryPolicy means no time at all; 0 means the default.
const NoDelay time.Duration = -1

// JobOption sets a member of a NewJob.
type JobOption interface{ applyToJob(*NewJob) }

type jobOption func(*NewJob)

func (o jobOption) applyToJob(j *NewJob) { o(j) }

// ID sets the job's id, one returned by MakeID.
func ID(id string) JobOption { return jobOption(func(j *NewJob) { j.ID = id }) }

// Queue names the queue in which the job waits.
func Queue(name string) JobOption { return jobOption(func(j *NewJob) { j.Queue = name }) }

// Priority sets the priority. Jobs with a lower number run first.
func Priority(priority int) JobOption { return jobOption(func(j *NewJob) { j.Priority = priority }) }

// Delay makes the job wait at least this long before its first attempt.
func Delay(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Delay = d }) }

// RunAt makes the job wait until an instant.
func RunAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.RunAt = at }) }

// ExpiresIn makes the job expire if it has not started within this time.
func ExpiresIn(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.ExpiresIn = d }) }

// ExpiresAt makes the job expire if it has not started by then.
func ExpiresAt(at time.Time) JobOption { return jobOption(func(j *NewJob) { j.ExpiresAt = at }) }

// MaxAttempts bounds the attempts, 1 to 1000.
func MaxAttempts(n int) JobOption { return jobOption(func(j *NewJob) { j.MaxAttempts = n }) }

// Retry sets the retry policy.
func Retry(policy RetryPolicy) JobOption { return jobOption(func(j *NewJob) { j.Retry = &policy }) }

// Timeout bounds each attempt.
func Timeout(d time.Duration) JobOption { return jobOption(func(j *NewJob) { j.Timeout = d }) }

// Unique allows only one job with this key.
func Unique(key UniqueKey) JobOption { return jobOption(func(j *NewJob) { j.Unique = &key }) }

// Tags adds tags.
func Tags(tags ...string) JobOption {
	return jobOption(func(j *NewJob) { j.Tags = append(append([]string(nil), j.Tags...), tags...) })
}

// Meta adds a string of the application.
func Meta(key, value string) JobOption {
	return jobOption(func(j *NewJob) {
		meta := map[string]string{key: value}
		for k, v := range j.Meta {
			if k != key {
				meta[k] = v
			}
		}
		j.Meta = meta
	})
}

// Limits adds limits that the job must pass to start.
func Limits(limits ...JobLimit) JobOption {
	return jobOption(func(j *NewJob) { j.Limits = append(append([]JobLimit(nil), j.Limits...), limits...) })
}

// OrderKey makes jobs with this key of a queue run one at a time, in their order.
func OrderKey(key string) JobOption { return jobOption(func(j *NewJob) { j.OrderKey = key }) }

// OrderOnFailure is "hold", if the job's successors wait while it waits for its next attempt (the
// default), or "pass".
func OrderOnFailure(policy string) JobOption {
	return jobOption(func(j *NewJob) { j.OrderOnFailure = policy })
}

// FairKey names whose share the job uses in a queue that shares fairly, such as a tenant.
func FairKey(key string) JobOption { return jobOption(func(j *NewJob) { j.FairKey = key }) }

// Trace sets the W3C trace context.
func Trace(traceparent, tracestate string) JobOption {
	return jobOption(func(j *NewJob) { j.Traceparent, j.Tracestate = traceparent, tracestate })
}

// IdempotencyKey makes a repeated submission return the job of the first one.
func IdempotencyKey(key string) JobOption {
	return jobOption(func(j *NewJob) { j.IdempotencyKey = key })
}

// LeaseOption is returned by Lease. It is an option of jobs and of workers.
type LeaseOption time.Duration

func (o LeaseOption) applyToJob(j *NewJob)          { j.Lease = time.Duration(o) }
func (o LeaseOption) applyToWorker(w *workerConfig) { w.lease = time.Duration(o) }

// Lease sets the length of leases, 1 s to 24 h, of a job or of all jobs that a worker claims.
func Lease(d time.Duration) LeaseOption { return LeaseOption(d) }
