package millrace_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/millrace/millrace/sdk/go"
)

func TestSharesAndAgeingHaveTheAPIsForm(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		settings millrace.QueueSettings
		text     string
	}{
		{
			millrace.QueueSettings{Fair: &millrace.Fair{Weights: map[string]int{"acme": 3}, DefaultWeight: 2, By: "starts"}},
			`{"fair":{"weights":{"acme":3},"default_weight":2,"by":"starts"}}`,
		},
		{millrace.QueueSettings{Fair: &millrace.Fair{}}, `{"fair":{}}`},
		{millrace.QueueSettings{Fair: millrace.NoFair()}, `{"fair":null}`},
		{millrace.QueueSettings{Ageing: millrace.Ptr(time.Minute)}, `{"ageing_ms":60000}`},
		{millrace.QueueSettings{Ageing: millrace.NoAgeing()}, `{"ageing_ms":null}`},
		{
			millrace.QueueSettings{Limits: []millrace.JobLimit{{Name: "tenants", KeyFrom: "fair_key"}}},
			`{"limits":[{"name":"tenants","key_from":"fair_key"}]}`,
		},
	} {
		text, err := json.Marshal(one.settings)
		if err != nil || string(text) != one.text {
			t.Errorf("%s, %v; wanted %s", text, err, one.text)
		}
		var read millrace.QueueSettings
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(read)
		if err != nil || string(again) != one.text {
			t.Errorf("read back as %s, %v; wanted %s", again, err, one.text)
		}
	}
	job, err := json.Marshal(millrace.NewJob{Type: "send", FairKey: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(job, &members); err != nil || members["fair_key"] != "acme" {
		t.Errorf("%s, %v", job, err)
	}
}
