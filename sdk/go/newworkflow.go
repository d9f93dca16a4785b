package millrace

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// Ref names a member of a workflow, which other members can need.
type Ref string

// Failed returns the need that the member has failed. A member that is released by it catches the
// failure.
func (r Ref) Failed() Need { return Need{Ref: string(r), On: "failed"} }

// Ended returns the need that the member has ended in any way.
func (r Ref) Ended() Need { return Need{Ref: string(r), On: "ended"} }

func (r Ref) need() Need  { return Need{Ref: string(r)} }
func (n Need) need() Need { return n }

// Needed is what a member can need: a Ref, for the success of that member, or a Need.
type Needed interface{ need() Need }

// MemberOption changes a member that is added to a workflow.
type MemberOption func(*NewMember)

// Needs makes a member wait for others, for all that its options name.
func Needs(needs ...Needed) MemberOption {
	return func(m *NewMember) {
		for _, needed := range needs {
			m.Needs = append(m.Needs, needed.need())
		}
	}
}

// NeedsAny makes a member wait for the first of its needs that is met.
func NeedsAny(needs ...Needed) MemberOption {
	return func(m *NewMember) {
		Needs(needs...)(m)
		m.NeedsAny = true
	}
}

// Add appends a member, and returns its ref for the Needs of others. The ref may be empty; no other
// member can need it then.
func (n *NewWorkflow) Add(ref string, job NewJob, options ...MemberOption) Ref {
	n.Members = append(n.Members, newMember(ref, job, options))
	return Ref(ref)
}

// Add appends a member, as NewWorkflow.Add does. Its Needs may name members that the workflow has.
func (n *NewMembers) Add(ref string, job NewJob, options ...MemberOption) Ref {
	n.Members = append(n.Members, newMember(ref, job, options))
	return Ref(ref)
}

func newMember(ref string, job NewJob, options []MemberOption) NewMember {
	member := NewMember{Ref: ref, Job: job}
	for _, option := range options {
		option(&member)
	}
	return member
}

// UnmarshalJSON reads the API's form, in which a ref alone is a need, too.
func (n *Need) UnmarshalJSON(data []byte) error {
	*n = Need{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &n.Ref)
	}
	type plain Need // without this method
	return json.Unmarshal(data, (*plain)(n))
}

const maxFaults = 20

// check finds the faults that the server could not see: it leaves a member alone whose ref an earlier part
// of the workflow has.
func (n *NewWorkflow) check() error {
	var faults []Fault
	places := make(map[string]int, len(n.Members))
	for i := 0; i < len(n.Members) && len(faults) < maxFaults; i++ {
		member, place := &n.Members[i], "/members/"+strconv.Itoa(i)
		if first, isTwice := places[member.Ref]; isTwice && member.Ref != "" {
			const detail = "another member has this ref; give each its own: see /members/"
			faults = append(faults, Fault{Where: place + "/ref", Detail: detail + strconv.Itoa(first)})
		} else {
			places[member.Ref] = i
		}
		for k := range member.Needs {
			if member.Needs[k].Ref == "" {
				const detail = "the member that is needed has no ref; give it one"
				faults = append(faults, Fault{Where: place + "/needs/" + strconv.Itoa(k) + "/ref", Detail: detail})
			}
		}
	}
	if len(n.Members) > MaxMembers && n.IdempotencyKey != "" {
		// The client could not tell the workflow from another one that holds a unique key.
		const detail = "with more than 10,000 members, give an ID of MakeID, not an idempotency key"
		faults = append(faults, Fault{Where: "Idempotency-Key", Detail: detail})
	}
	if len(faults) > 0 {
		return invalid(nil, faults...)
	}
	return nil
}

func haveRefs(members []NewMember) bool {
	for i := range members {
		if members[i].Ref == "" {
			return false
		}
	}
	return true
}

// withDefaults does for an addition what the server does for a creation alone.
func withDefaults(members []NewMember, defaults *NewJob) []NewMember {
	if defaults == nil {
		return members
	}
	complete := append([]NewMember(nil), members...)
	for i := range complete {
		complete[i].Job = complete[i].Job.WithDefaults(*defaults)
	}
	return complete
}

// WithDefaults returns the job with the members of `defaults` that it does not set, as the server
// completes the jobs of a workflow.
func (j NewJob) WithDefaults(defaults NewJob) NewJob {
	if j.Delay != 0 || !j.RunAt.IsZero() { // one excludes the other
		defaults.Delay, defaults.RunAt = j.Delay, j.RunAt
	}
	if j.Traceparent != "" {
		defaults.Tracestate = j.Tracestate
	}
	own, given := reflect.ValueOf(&j).Elem(), reflect.ValueOf(&defaults).Elem()
	for k := 0; k < own.NumField(); k++ {
		if own.Field(k).IsZero() {
			own.Field(k).Set(given.Field(k))
		}
	}
	return j
}
