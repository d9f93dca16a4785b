package millrace_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

func clientURL(c *millrace.Client) string { return millrace.URLOf(c) }

// newWay returns a client behind a Way, which can inject faults into its requests.
func newWay(t *testing.T) (*millrace.Client, *testserver.Way) {
	t.Helper()
	way := testserver.NewWay(t, testserver.New(t).URL)
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL, Timeout: 60 * time.Second}))
	t.Cleanup(client.Close)
	return client, way
}

func TestALostAnswerMakesNoSecondJob(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]testserver.Harm{"answer": testserver.LoseAnswer, "request": testserver.LoseRequest} {
		t.Run(name, func(t *testing.T) {
			client, way := newWay(t)
			way.First(2, harm, "POST", "/v1/jobs")
			job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Queue: "q"}))
			wants(t, "is new", job.IsNew, harm == testserver.LoseRequest)
			wants(t, "ready", must[*millrace.QueueInfo](t)(client.Queue(ctx, "q")).Counts.Ready, 1)
			seen := way.Requests()
			wants(t, "the third try", seen[2].Body, seen[0].Body)
		})
	}
}

func TestCallsThatMustNotBeDoneTwice(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	must[*millrace.Job](t)(client.Cancel(ctx, job.ID, ""))
	way.First(1, testserver.LoseAnswer, "POST", "/retry")
	_, err := client.Retry(ctx, job.ID)
	refusedWith(t, err, millrace.ErrUnreachable)
	must[*millrace.Job](t)(client.Cancel(ctx, job.ID, ""))
	way.First(1, testserver.Refuse, "POST", "/retry")
	wants(t, "generation", must[*millrace.Job](t)(client.Retry(ctx, job.ID)).Generation, 3)
}

func TestRepeatedCancelAndDeleteSucceed(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	job := must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	way.First(1, testserver.LoseAnswer, "POST", "/cancel")
	wants(t, "state", must[*millrace.Job](t)(client.Cancel(ctx, job.ID, "")).State, millrace.Cancelled)
	way.First(1, testserver.LoseAnswer, "DELETE", job.ID)
	if err := client.Delete(ctx, job.ID); err != nil {
		t.Fatal(err)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	way.First(1, testserver.Refuse, "POST", "/v1/jobs")
	began := time.Now()
	must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t"}))
	if took := time.Since(began); took < time.Second {
		t.Errorf("the second try came after %v", took)
	}
	// The client does not begin a pause that would pass the deadline.
	impatient := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL, Timeout: 30 * time.Second}))
	way.First(1, testserver.RefuseLong, "POST", "/v1/jobs")
	began = time.Now()
	_, err := impatient.Submit(ctx, millrace.NewJob{Type: "t"})
	e := refusedWith(t, err, millrace.ErrUnavailable)
	wants(t, "what it says", []any{e.RetryAfter, e.Code}, []any{time.Minute, "draining"})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it failed only after %v", took)
	}
}

func TestOneDeadlineForAllTries(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	_ = client
	way.First(1000, testserver.LoseRequest, "GET", "")
	impatient := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL, Timeout: time.Second}))
	began := time.Now()
	_, err := impatient.Queue(ctx, "q")
	refusedWith(t, err, millrace.ErrUnreachable)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	way.First(1, testserver.Hang, "GET", "")
	_, err = impatient.Queue(ctx, "q")
	refusedWith(t, err, millrace.ErrUnreachable)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = impatient.Queue(cancelled, "q"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", err)
	}
}

func TestAHundredCallsUseOneConnection(t *testing.T) {
	t.Parallel()
	client, way := newWay(t)
	for i := 0; i < 100; i++ {
		must[*millrace.Submitted](t)(client.Submit(ctx, millrace.NewJob{Type: "t", Payload: i}))
	}
	connections := map[string]bool{}
	for _, seen := range way.Requests() {
		connections[seen.Remote] = true
	}
	wants(t, "connections", len(connections), 1)
}

func TestAServerThatComesLate(t *testing.T) {
	t.Parallel()
	address := testserver.FreeAddress()
	answering := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte("<html>please log in</html>"))
	})}
	t.Cleanup(func() { _ = answering.Close() })
	time.AfterFunc(300*time.Millisecond, func() {
		if late, err := net.Listen("tcp", address); err == nil {
			_ = answering.Serve(late)
		}
	})
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: "http://" + address, Timeout: 60 * time.Second}))
	_, err := client.Retry(ctx, "x") // not idempotent, but retried until the server listens
	var e *millrace.Error
	if !errors.As(err, &e) || e.Code != "bad_answer" {
		t.Errorf("the error is %v, not that of a bad answer", err)
	}
}

func TestTraceContextTravels(t *testing.T) {
	t.Parallel()
	_, way := newWay(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL, Trace: func(context.Context) (string, string) { return parent, "a=b" }}))
	keyed := millrace.NewJob{Type: "t", IdempotencyKey: "k"}
	job := must[*millrace.Submitted](t)(client.Submit(ctx, keyed))
	wants(t, "traceparent", job.Traceparent, parent)
	// A different trace does not make it a different request.
	plain := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL}))
	wants(t, "the job", must[*millrace.Submitted](t)(plain.Submit(ctx, keyed)).ID, job.ID)
}
