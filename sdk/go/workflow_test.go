package millrace_test

import (
	"encoding/json"
	"testing"

	millrace "github.com/millrace/millrace/sdk/go"
)

// A claim's workflow and parents are read.
func TestWorkflowOfAClaim(t *testing.T) {
	const sent = `{"id":"j","queue":"q","type":"t","payload":1,"attempt":1,"max_attempts":5,` +
		`"lease":{"token":1,"expires_at":"2030-01-01T00:00:00.000Z","lease_ms":30000},"meta":{},` +
		`"workflow":{"id":"w","name":null,"ref":"b","number":1,"role":"member","generation":2,"state":"running"},` +
		`"parents":{"payload":{"id":"p","state":"succeeded","reason":null,"result":{"rows":3}}}}`
	var job millrace.ClaimedJob
	if err := json.Unmarshal([]byte(sent), &job); err != nil {
		t.Fatal(err)
	}
	if w := job.Workflow; w == nil || w.Ref != "b" || *w.Number != 1 || w.Generation != 2 {
		t.Fatalf("the workflow is %+v", w)
	}
	if p := job.Parents["payload"]; p.State != "succeeded" || string(p.Result) != `{"rows":3}` {
		t.Fatalf("the parent is %+v", p)
	}
}
