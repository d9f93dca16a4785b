package millracetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	millrace "github.com/millrace/millrace/sdk/go"
)

// This file has the graphs of workflows: what follows from the end of a job, or from a call. All its
// functions expect that the caller holds the fake's mutex.

// flow is a workflow.
type flow struct {
	given   millrace.NewWorkflow
	then    callbacks
	shown   millrace.Workflow // without the numbers of members
	members []*member
	byRef   map[string]*member
	keys    map[string]bool // the idempotency keys of additions
	active  int             // members
}

// callbacks are complete jobs, or nil.
type callbacks struct{ onSuccess, onFailure, onEnd *millrace.NewJob }

// member is a member of a workflow.
type member struct {
	millrace.MemberDetail
	entry *entry // its job; nil before its release
}

// role is what a job is to a workflow; the zero value if it belongs to none.
type role struct {
	flow   *flow
	member *member // nil if the job is a callback
	claim  *millrace.WorkflowOfClaim
}

func (m *member) hasEnded() bool {
	return m.State != millrace.MemberBlocked && m.State != millrace.MemberActive
}

func (fl *flow) find(ref string) (*member, *millrace.Error) {
	if m := fl.byRef[ref]; m != nil {
		return m, nil
	}
	if len(ref) > 1 && ref[0] == '@' {
		if n, err := strconv.Atoi(ref[1:]); err == nil && n >= 0 && n < len(fl.members) {
			return fl.members[n], nil
		}
	}
	return nil, missing("member", ref)
}

// nameOf returns a member's ref, or what stands for it.
func nameOf(m *member) string {
	if m.Ref == "" {
		return "@" + strconv.FormatInt(m.Number, 10)
	}
	return m.Ref
}

func (fl *flow) counts() millrace.MemberCounts {
	of := map[millrace.MemberState]int64{}
	for _, m := range fl.members {
		of[m.State]++
	}
	return millrace.MemberCounts{
		Blocked: of[millrace.MemberBlocked], Active: of[millrace.MemberActive], Succeeded: of[millrace.MemberSucceeded],
		Failed: of[millrace.MemberFailed], Skipped: of[millrace.MemberSkipped],
	}
}

// prepare completes a job of the workflow, and returns its faults. Defaults hold for one call alone; nil: the
// call has none.
func (fl *flow) prepare(
	ctx context.Context, job millrace.NewJob, defaults *millrace.NewJob, place string,
) (millrace.NewJob, []millrace.Fault) {
	if defaults != nil {
		job = job.WithDefaults(*defaults)
	}
	if job.Queue == "" {
		job.Queue = fl.shown.Queue
	}
	if from := millrace.JobFrom(ctx); from != nil && job.Traceparent == "" {
		job.Traceparent, job.Tracestate = from.Traceparent, from.Tracestate
	}
	payload, err := millrace.Encode(job.Payload)
	if err != nil {
		return job, []millrace.Fault{{Where: place + "/payload", Detail: err.Error()}}
	}
	job.Payload = payload
	faults := check(&job)
	for _, unfit := range []struct {
		where   string
		isGiven bool
	}{
		{"/id", job.ID != ""}, {"/unique", job.Unique != nil}, {"/expires_at", !job.ExpiresAt.IsZero()},
		{"/idempotency_key", job.IdempotencyKey != ""},
	} {
		if unfit.isGiven {
			faults = append(faults, millrace.Fault{Where: unfit.where, Detail: "a job of a workflow has none"})
		}
	}
	for i := range faults {
		faults[i].Where = place + faults[i].Where
	}
	return job, faults
}

// resolve returns those of the given members that are new, without adding them.
func (f *Fake) resolve(
	ctx context.Context, fl *flow, given []millrace.NewMember, defaults *millrace.NewJob,
) ([]*member, *millrace.Error) {
	var added []*member
	var faults []millrace.Fault
	places, fresh := []string{}, map[string]*member{}
	for i, g := range given {
		place := "/members/" + strconv.Itoa(i)
		if g.Ref != "" && fl.byRef[g.Ref] != nil {
			continue
		}
		if g.Ref != "" && !namePattern.MatchString(g.Ref) {
			faults = append(faults, millrace.Fault{Where: place + "/ref", Detail: "must be 1 to 128 of A-Za-z0-9._:/-"})
		}
		if g.Ref != "" && fresh[g.Ref] != nil {
			faults = append(faults, millrace.Fault{Where: place, Detail: "another member has this ref"})
		}
		job, wrong := fl.prepare(ctx, g.Job, defaults, place+"/job")
		faults = append(faults, wrong...)
		m := &member{MemberDetail: millrace.MemberDetail{
			NeedsAny: g.NeedsAny, Definition: &job,
			Member: millrace.Member{
				Number: int64(len(fl.members) + len(added)), Ref: g.Ref, State: millrace.MemberBlocked, Queue: job.Queue,
			},
		}}
		for _, need := range g.Needs {
			if need.On == "" {
				need.On = "succeeded"
			}
			m.Needs = append(m.Needs, need)
		}
		added, places = append(added, m), append(places, place)
		if g.Ref != "" {
			fresh[g.Ref] = m
		}
	}
	for i, m := range added {
		for _, need := range m.Needs {
			if fl.byRef[need.Ref] == nil && fresh[need.Ref] == nil {
				faults = append(faults, millrace.Fault{Where: places[i], Detail: "no member has the ref " + need.Ref})
			}
		}
	}
	if i := circle(added, fresh); i >= 0 {
		const detail = "the member needs itself, through what it needs"
		faults = append(faults, millrace.Fault{Where: places[i], Detail: detail})
	}
	if len(faults) > 0 {
		return nil, invalid(faults...)
	}
	return added, nil
}

// circle returns the place of the first member that needs itself; -1 if none does. It empties `rest`.
func circle(added []*member, rest map[string]*member) int {
	for before := -1; before != len(rest); {
		before = len(rest)
		for _, m := range added {
			needs := 0
			for _, need := range m.Needs {
				if rest[need.Ref] != nil {
					needs++
				}
			}
			if needs == 0 && rest[m.Ref] == m {
				delete(rest, m.Ref)
			}
		}
	}
	for i, m := range added {
		if m.Ref != "" && rest[m.Ref] == m {
			return i
		}
	}
	return -1
}

func (fl *flow) add(added []*member) {
	for _, m := range added {
		fl.members = append(fl.members, m)
		if m.Ref != "" {
			fl.byRef[m.Ref] = m
		}
	}
}

// settle releases and skips what can be decided, and ends the workflow if it is over.
func (f *Fake) settle(fl *flow) {
	if fl.shown.State.IsFinal() {
		return
	}
	for changed := true; changed; {
		changed = false
		for _, m := range fl.members {
			changed = m.State == millrace.MemberBlocked && f.decide(fl, m) || changed
		}
	}
	isRunning := fl.shown.State == millrace.WorkflowRunning
	if isRunning && fl.shown.OnMemberFailed == "stop" && fl.fails(true) {
		fl.stop("member_failed")
		f.settle(fl)
		return
	}
	isOver := !fl.shown.Open || !isRunning
	for _, m := range fl.members {
		if !isRunning && m.State == millrace.MemberActive && !m.entry.job.CancelRequested {
			f.cancel(m.entry) // which settles the workflow again, unless the job runs
		}
		isOver = isOver && m.hasEnded()
	}
	if isOver && !fl.shown.State.IsFinal() {
		f.conclude(fl)
	}
}

// stop lets nothing more be released.
func (fl *flow) stop(reason string) {
	fl.shown.State, fl.shown.Reason = millrace.WorkflowStopping, reason
	fl.shown.Version++
}

// decide returns whether the member is no longer blocked.
func (f *Fake) decide(fl *flow, m *member) bool {
	if fl.shown.State == millrace.WorkflowStopping {
		m.State, m.Reason = millrace.MemberSkipped, "cancelled"
		return true
	}
	met, unmet := 0, 0
	for _, need := range m.Needs {
		if of := fl.byRef[need.Ref]; of.hasEnded() {
			if need.On == "ended" || need.On == string(of.State) {
				met++
			} else {
				unmet++
			}
		}
	}
	isReady, isHopeless := met == len(m.Needs), unmet > 0
	if m.NeedsAny && len(m.Needs) > 0 {
		isReady, isHopeless = met > 0, unmet == len(m.Needs)
	}
	switch {
	case isHopeless:
		m.State = millrace.MemberSkipped
	case !isReady || fl.shown.MaxActive > 0 && fl.active >= fl.shown.MaxActive:
		return false
	default:
		m.Generation = 1
		if m.entry = f.release(fl, m, *m.Definition); m.entry == nil {
			m.State, m.Reason = millrace.MemberFailed, "refused"
			break
		}
		m.State, m.JobID = millrace.MemberActive, m.entry.job.ID
		fl.active++
	}
	return true
}

// release submits the job of a member, or a callback, whose member is nil. It returns nil if the job is
// refused.
func (f *Fake) release(fl *flow, m *member, job millrace.NewJob) *entry {
	for _, limit := range job.Limits {
		if f.setup.unknownLimit(limit.Name) != nil {
			return nil
		}
	}
	payload, _ := job.Payload.(json.RawMessage)
	e := f.add(context.Background(), job, payload)
	claim := &millrace.WorkflowOfClaim{
		ID: fl.shown.ID, Name: fl.shown.Name, Role: "callback", Generation: 1, State: fl.shown.State,
	}
	if m != nil {
		claim.Role, claim.Ref, claim.Number = "member", m.Ref, millrace.Ptr(m.Number)
	} else {
		claim.Counts, claim.Failed = millrace.Ptr(fl.counts()), []string{}
		for _, failed := range fl.members {
			if failed.State == millrace.MemberFailed && len(claim.Failed) < 20 {
				claim.Failed = append(claim.Failed, nameOf(failed))
			}
		}
	}
	e.role = role{flow: fl, member: m, claim: claim}
	e.job.Workflow = &millrace.WorkflowOfJob{
		ID: claim.ID, Name: claim.Name, Ref: claim.Ref, Number: claim.Number, Role: claim.Role,
	}
	if f.mode == Inline {
		f.released = append(f.released, e)
	}
	return e
}

// fails returns whether a member has failed that no other has caught; if asked so, only one that no other
// can catch any more.
func (fl *flow) fails(forGood bool) bool {
	isCaught := map[string]bool{}
	for _, m := range fl.members {
		for _, need := range m.Needs {
			mayCatch := m.Generation > 0 || forGood && m.State == millrace.MemberBlocked
			isCaught[need.Ref] = isCaught[need.Ref] || need.On == "failed" && mayCatch
		}
	}
	for _, m := range fl.members {
		if m.State == millrace.MemberFailed && (m.Ref == "" || !isCaught[m.Ref]) {
			return true
		}
	}
	return false
}

// conclude ends a workflow.
func (f *Fake) conclude(fl *flow) {
	shown := &fl.shown
	if shown.Reason == "" && shown.OnMemberFailed != "ignore" && fl.fails(false) {
		shown.Reason = "member_failed"
	}
	callback, given := &shown.Callbacks.OnFailure, fl.then.onFailure
	switch shown.Reason {
	case "":
		shown.State = millrace.WorkflowSucceeded
		callback, given = &shown.Callbacks.OnSuccess, fl.then.onSuccess
	case "cancelled":
		shown.State = millrace.WorkflowCancelled
	default:
		shown.State = millrace.WorkflowFailed
	}
	shown.EndedAt = f.now
	shown.Version++
	f.callBack(fl, given, callback)
	f.callBack(fl, fl.then.onEnd, &shown.Callbacks.OnEnd)
}

func (f *Fake) callBack(fl *flow, job *millrace.NewJob, id *string) {
	if job == nil {
		return
	}
	if e := f.release(fl, nil, *job); e != nil {
		*id = e.job.ID
	}
}

// jobEnded counts the end of a job for its workflow.
func (f *Fake) jobEnded(e *entry) {
	m := e.role.member
	if m == nil {
		return
	}
	m.State = millrace.MemberSucceeded
	if e.job.State != millrace.Succeeded {
		m.State, m.Reason = millrace.MemberFailed, string(e.job.State)
	}
	e.role.flow.active--
	f.settle(e.role.flow)
}

// grow makes what a handler has added and skipped, all of it or nothing.
func (f *Fake) grow(ctx context.Context, e *entry, grown millrace.Growth) *millrace.Error {
	fl := e.role.flow
	if len(grown.Members)+len(grown.Skip) == 0 || fl == nil {
		return nil
	}
	var skipped []*member
	for _, ref := range grown.Skip {
		m, err := fl.find(ref)
		if err != nil {
			return err
		}
		if m.State != millrace.MemberBlocked {
			return notBlocked(ref)
		}
		skipped = append(skipped, m)
	}
	added, err := f.resolve(ctx, fl, grown.Members, nil)
	if err != nil {
		return err
	}
	fl.add(added)
	for _, m := range skipped {
		m.State, m.Reason = millrace.MemberSkipped, "by_call"
	}
	return nil
}

func notBlocked(ref string) *millrace.Error {
	return refusal(http.StatusConflict, "invalid_state", fmt.Sprintf("the member %s is not blocked", ref))
}

// claimOf adds to a claim what it says of the workflow.
func claimOf(e *entry, claimed *millrace.ClaimedJob) {
	claimed.Workflow = e.role.claim
	if e.role.member == nil || len(e.role.member.Needs) == 0 {
		return
	}
	claimed.Parents = map[string]millrace.Parent{}
	for _, need := range e.role.member.Needs {
		of := e.role.flow.byRef[need.Ref]
		if !of.hasEnded() {
			continue
		}
		parent := millrace.Parent{ID: of.JobID, State: of.State, Reason: of.Reason}
		if of.State == millrace.MemberSucceeded {
			parent.Result = of.entry.job.Result
		}
		claimed.Parents[need.Ref] = parent
	}
}

// takeReleased returns the jobs that were released since the last call, for the mode Inline.
func (f *Fake) takeReleased() []*entry {
	released := f.released
	f.released = nil
	return released
}
