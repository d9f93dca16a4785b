package frameworks

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
	"github.com/millrace/millrace/sdk/go/millraceotel"
)

func TestATraceGoesOnThroughTheAttemptsOfAJob(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	tracer := provider.Tracer("test")
	client := must(millrace.New(millrace.Options{URL: testserver.New(t).URL, Trace: millraceotel.Trace}))(t)
	child := millrace.Define[int, any]("child")
	parent := millrace.Define[int, any]("parent", millrace.MaxAttempts(1))
	worker := client.Worker()
	worker.Use(millraceotel.Middleware(provider))
	millrace.Handle(worker, parent, func(ctx context.Context, n int) (any, error) {
		submitted, err := child.Submit(ctx, client, n)
		if err == nil {
			err = errors.New(submitted.Traceparent)
		}
		return nil, err
	})
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()

	under, root := tracer.Start(ctx, "request")
	id := must(parent.Submit(under, client, 1))(t).ID
	root.End()
	job := must(parent.Wait(ctx, client, id, time.Minute))(t)
	worker.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	attempt := spans.Ended()[len(spans.Ended())-1]
	if attempt.Name() != "parent" || attempt.Status().Code != codes.Error {
		t.Errorf("the attempt's span is %s: %v", attempt.Name(), attempt.Status())
	}
	if attempt.Parent().SpanID() != root.SpanContext().SpanID() {
		t.Error("the attempt is not within the request")
	}
	own := attempt.SpanContext()
	want := "00-" + root.SpanContext().TraceID().String() + "-" + own.SpanID().String() + "-01"
	if job.LastError.Message != want {
		t.Errorf("the child has the context %s, not %s", job.LastError.Message, want)
	}
}
