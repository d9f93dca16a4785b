// Package millraceotel joins Millrace and OpenTelemetry: a trace goes on from the submission of a job
// through its attempts.
//
//	client, err := millrace.New(millrace.Options{Trace: millraceotel.Trace})
//	...
//	worker.Use(millraceotel.Middleware())
package millraceotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	millrace "github.com/millrace/millrace/sdk/go"
)

const scope = "github.com/millrace/millrace/sdk/go/millraceotel"

var w3c propagation.TraceContext

// Trace returns the W3C trace context of ctx, for Options.Trace.
func Trace(ctx context.Context) (traceparent, tracestate string) {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier["traceparent"], carrier["tracestate"]
}

// Middleware starts a span for each attempt, within the trace of the job's submission. Its name is that
// of the job's type. An attempt that fails gives its span the error. The provider is the global one
// unless another is given.
func Middleware(provider ...trace.TracerProvider) millrace.Middleware {
	return func(next millrace.Handler) millrace.Handler {
		return func(ctx context.Context) (any, error) {
			of := otel.GetTracerProvider()
			if len(provider) > 0 {
				of = provider[0]
			}
			job := millrace.JobFrom(ctx)
			ctx = w3c.Extract(ctx, propagation.MapCarrier{"traceparent": job.Traceparent, "tracestate": job.Tracestate})
			ctx, span := of.Tracer(scope).Start(ctx, job.Type, trace.WithSpanKind(trace.SpanKindConsumer),
				trace.WithAttributes(
					attribute.String("messaging.system", "millrace"),
					attribute.String("messaging.destination.name", job.Queue),
					attribute.String("messaging.message.id", job.ID),
					attribute.Int("millrace.attempt", job.Attempt),
				))
			defer span.End()
			result, err := next(ctx)
			if err != nil {
				note(span, err)
			}
			return result, err
		}
	}
}

// note gives a span the error of its attempt, whose method Error may panic.
func note(span trace.Span, err error) {
	defer func() { _ = recover() }()
	span.SetStatus(codes.Error, "")
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
}
