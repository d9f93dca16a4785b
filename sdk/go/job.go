package millrace

// JobState is the state of a job.
type JobState string

// The states of jobs. Succeeded and the states after it are final.
const (
	Scheduled JobState = "scheduled" // waits for its RunAt
	Ready     JobState = "ready"     // waits for a worker
	Running   JobState = "running"   // a worker has a lease on it
	Retrying  JobState = "retrying"  // an attempt failed; waits for its backoff
	Blocked   JobState = "blocked"   // waits for other jobs
	Succeeded JobState = "succeeded"
	Dead      JobState = "dead" // failed for good
	Cancelled JobState = "cancelled"
	Expired   JobState = "expired" // did not start before its ExpiresAt
	// Pruned: retention has removed the job, but its idempotency key is still valid.
	Pruned JobState = "pruned"
)

// IsFinal reports whether a job in this state has ended. Client.Retry can start it again.
func (s JobState) IsFinal() bool {
	switch s {
	case Succeeded, Dead, Cancelled, Expired, Pruned:
		return true
	}
	return false
}

// prunedJob is what the server shows of a pruned job.
type prunedJob struct {
	ID    string   `json:"id"`
	State JobState `json:"state"`
}
