package millrace_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

// What fails within a handler, a logger or this package frees the slot and is reported.

type silentError struct{}

func (*silentError) Error() string { panic("no text") }

type brokenResult struct{}

func (brokenResult) MarshalJSON() ([]byte, error) { panic("no JSON") }

type brokenLogger struct{}

func (brokenLogger) Enabled(context.Context, slog.Level) bool  { return true }
func (brokenLogger) Handle(context.Context, slog.Record) error { panic("no log") }
func (l brokenLogger) WithAttrs([]slog.Attr) slog.Handler      { return l }
func (l brokenLogger) WithGroup(string) slog.Handler           { return l }

func TestWhateverFailsIsReportedAndFreesTheSlot(t *testing.T) {
	t.Parallel()
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{
		URL: testserver.New(t).URL, Logger: slog.New(brokenLogger{}),
	}))
	t.Cleanup(client.Close)
	endings := []func() (any, error){
		func() (any, error) { return nil, &silentError{} },
		func() (any, error) { return nil, (*silentError)(nil) },
		func() (any, error) { return nil, millrace.NonRetryable(&silentError{}) },
		func() (any, error) { panic(&silentError{}) },
		func() (any, error) { return brokenResult{}, nil },
		func() (any, error) { runtime.Goexit(); return nil, nil },
		func() (any, error) { return nil, errors.New("before \xff after") },
	}
	_, stop := start(t, client, func(_ context.Context, n int) (any, error) { return endings[n]() },
		millrace.Concurrency(1))
	for n, kind := range []string{
		"*millrace_test.silentError", "*millrace_test.silentError", "*millrace_test.silentError", "panic",
		"outcome_refused", "goexit", "error",
	} {
		ended := final(t, client, submit(t, client, n, millrace.MaxAttempts(1)))
		wants(t, fmt.Sprint("state of ", n), ended.State, millrace.Dead)
		wants(t, fmt.Sprint("type of ", n), ended.LastError.Type, kind)
		if ended.LastError.Message == "" {
			t.Errorf("error %d has no message", n)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestATokenIsTrimmedCheckedAndNeverShown(t *testing.T) {
	way := testserver.NewWay(t, testserver.New(t).URL)
	client := must[*millrace.Client](t)(millrace.New(millrace.Options{URL: way.URL, Token: " \tmlr_hidden\r\n"}))
	t.Cleanup(client.Close)
	_, _ = client.Queues(ctx, millrace.PageOf{}) // the server knows no tokens
	wants(t, "authorization", way.Requests()[0].Header.Get("Authorization"), "Bearer mlr_hidden")
	for _, shown := range []string{
		fmt.Sprintf("%v %+v %#v", client, client, client), fmt.Sprintf("%+v", *client), fmt.Sprintf("%+v", client.Worker()),
	} {
		if strings.Contains(shown, "hidden") {
			t.Error("the token is shown:", shown)
		}
	}
	for _, token := range []string{"mlr_hid\r\nX: y", "mlr_hid\x00den", "mlr hidden", "mlr_hidd\u00e9n"} {
		if _, err := millrace.New(millrace.Options{Token: token}); err == nil || strings.Contains(err.Error(), "hid") {
			t.Errorf("a wrong token: %v", err)
		}
	}
}

func TestAFullQueueIsTriedForAsLongAsTheClientSays(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	must[*millrace.QueueInfo](t)(client.PutQueue(ctx, "full", millrace.QueueSettings{MaxReady: millrace.Ptr(1)}))
	full := millrace.Define[int, any]("t", millrace.Queue("full"))
	must[*millrace.Submitted](t)(full.Submit(ctx, client, 1))
	_, err := full.Submit(ctx, client, 2)
	refusedWith(t, err, millrace.ErrQueueFull)
	patient := must[*millrace.Client](t)(millrace.New(millrace.Options{
		URL: clientURL(client), QueueFullTimeout: time.Minute,
	}))
	done := make(chan error)
	go func() {
		_, err := full.Submit(ctx, patient, 2)
		done <- err
	}()
	must[*millrace.QueueInfo](t)(client.PutQueue(ctx, "full", millrace.QueueSettings{}))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestResultsHaveTheTypeOfTheirJob(t *testing.T) {
	t.Parallel()
	type receipt struct{ Number int }
	client := newClient(t)
	pay := millrace.Define[int, receipt]("pay", millrace.Queue("pay"), millrace.MaxAttempts(1))
	worker := client.Worker(millrace.Queues("pay"))
	millrace.Handle(worker, pay, func(_ context.Context, n int) (receipt, error) {
		if n < 0 {
			return receipt{}, errors.New("negative")
		}
		return receipt{n}, nil
	})
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	for n, want := range map[int]millrace.JobState{7: millrace.Succeeded, -7: millrace.Dead} {
		id := must[*millrace.Submitted](t)(pay.Submit(ctx, client, n)).ID
		job := must[*millrace.Ended[receipt]](t)(pay.Wait(ctx, client, id, time.Minute))
		wants(t, "state", job.State, want)
		wants(t, "result", job.Result.Number, max(n, 0))
	}
	worker.Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAJobSaysWhatItMustPass(t *testing.T) {
	job := job.Job(1, millrace.Limits(millrace.JobLimit{Name: "api", Key: "acme"}), millrace.OrderKey("o"),
		millrace.OrderOnFailure("pass"), millrace.FairKey("f"), millrace.Limits(millrace.JobLimit{Name: "db"}))
	wants(t, "limits", fmt.Sprint(job.Limits), "[{api acme  0} {db   0}]")
	wants(t, "keys", job.OrderKey+job.OrderOnFailure+job.FairKey, "opassf")
}
