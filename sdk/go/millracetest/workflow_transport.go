package millracetest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	millrace "github.com/millrace/millrace/sdk/go"
)

// answerWorkflows answers a request about workflows, whose path has these parts.
func (f *Fake) answerWorkflows(parts []string, id string, r *http.Request, body []byte) (int, any, error) {
	ctx, query, ref := r.Context(), r.URL.Query(), ""
	if len(parts) > 3 {
		if unescaped, err := url.PathUnescape(parts[3]); err == nil {
			ref = unescaped
		}
		parts[3] = "*"
	}
	switch r.Method + " " + strings.Join(parts, "/") {
	case "POST workflows":
		return f.answerCreation(r, body)
	case "GET workflows":
		filter, err := workflowFilterOf(query)
		if err != nil {
			return 0, nil, err
		}
		return found(f.Workflows(ctx, filter))
	case "GET workflows/*":
		if query.Get("until") == "final" {
			return found(f.WaitWorkflow(ctx, id, 0))
		}
		return found(f.Workflow(ctx, id, words(query, "include")...))
	case "GET workflows/*/members":
		page, err := pageIn(query)
		if err != nil {
			return 0, nil, err
		}
		return found(f.WorkflowMembers(ctx, id, millrace.MemberFilter{
			State: millrace.MemberState(query.Get("state")), Include: words(query, "include"), PageOf: page,
		}))
	case "GET workflows/*/members/*":
		return found(f.WorkflowMember(ctx, id, ref, millrace.GetMember{Include: words(query, "include")}))
	case "POST workflows/*/members":
		var members millrace.NewMembers
		if err := json.Unmarshal(body, &members); err != nil {
			return 0, nil, err
		}
		members.IdempotencyKey = r.Header.Get("Idempotency-Key")
		return found(f.AddMembers(ctx, id, members))
	case "POST workflows/*/close":
		return found(f.CloseWorkflow(ctx, id))
	case "POST workflows/*/cancel":
		var said struct{ Reason string }
		if err := json.Unmarshal(body, &said); err != nil {
			return 0, nil, err
		}
		return found(f.CancelWorkflow(ctx, id, said.Reason))
	case "POST workflows/*/members/*/skip":
		return found(f.SkipMember(ctx, id, ref))
	}
	return 0, nil, unknown(r)
}

func (f *Fake) answerCreation(r *http.Request, body []byte) (int, any, error) {
	var workflow millrace.NewWorkflow
	if err := json.Unmarshal(body, &workflow); err != nil {
		return 0, nil, err
	}
	workflow.IdempotencyKey = r.Header.Get("Idempotency-Key")
	created, err := f.CreateWorkflow(r.Context(), workflow)
	switch {
	case err != nil:
		return 0, nil, err
	case created.IsNew:
		return http.StatusCreated, created.Workflow, nil
	}
	return http.StatusOK, created.Workflow, nil
}

func workflowFilterOf(query url.Values) (millrace.WorkflowFilter, error) {
	filter := millrace.WorkflowFilter{Queue: query.Get("queue"), Name: query.Get("name"), Tag: query.Get("tag")}
	for _, state := range words(query, "state") {
		filter.States = append(filter.States, millrace.WorkflowState(state))
	}
	var err error
	if filter.PageOf, err = pageIn(query); err == nil {
		err = readTimes(query, &filter.CreatedAfter, &filter.CreatedBefore)
	}
	return filter, err
}
