package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
)

var (
	// ErrNoParent: the handler's job has no parent with this ref.
	ErrNoParent = errors.New("millrace: there is no such parent")
	// ErrNoResult: the parent did not succeed, or its result was left out.
	ErrNoResult = errors.New("millrace: the parent has no result")
)

// Parent returns what the job of a workflow needs, with its result, by its ref. It returns ErrNoParent if
// the job needs nothing with this ref.
func (c *JobContext) Parent(ref string) (*Parent, error) {
	if parent, ok := c.Parents[ref]; ok {
		return &parent, nil
	}
	if len(c.Parents) == 0 {
		return nil, fmt.Errorf("%w: %q; the job has no parents", ErrNoParent, ref)
	}
	refs := make([]string, 0, len(c.Parents))
	for known := range c.Parents {
		refs = append(refs, fmt.Sprintf("%q", known))
	}
	sort.Strings(refs)
	if len(refs) > maxFaults {
		refs = append(refs[:maxFaults], "...")
	}
	return nil, fmt.Errorf("%w: %q; the job's parents are %s", ErrNoParent, ref, strings.Join(refs, ", "))
}

// ParentResult returns the result of a parent of the handler's job as a value. Beside ErrNoParent it
// returns ErrNoResult if the parent did not succeed, or if its result was left out: the error says why, and
// names the parent's job, which Client.Get may ask for.
func ParentResult[R any](ctx context.Context, ref string) (R, error) {
	var result R
	job := JobFrom(ctx)
	if job == nil {
		return result, fmt.Errorf("%w: %q; this context is no handler's", ErrNoParent, ref)
	}
	parent, err := job.Parent(ref)
	switch {
	case err != nil:
		return result, err
	case parent.Omitted != "":
		return result, fmt.Errorf("%w: that of %q, job %s, was left out: %s", ErrNoResult, ref, parent.ID, parent.Omitted)
	case parent.State != MemberSucceeded:
		return result, fmt.Errorf("%w: %q, job %s, is %s", ErrNoResult, ref, firstOf(parent.ID, "none"), stateOf(parent))
	case len(parent.Result) == 0:
		return result, nil
	}
	if err := json.Unmarshal(parent.Result, &result); err != nil {
		return result, fmt.Errorf("millrace: the result of parent %q, job %s, is no %T: %w", ref, parent.ID, result, err)
	}
	return result, nil
}

func stateOf(parent *Parent) string {
	if parent.Reason == "" {
		return string(parent.State)
	}
	return string(parent.State) + " (" + parent.Reason + ")"
}
