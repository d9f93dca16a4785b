package millrace_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
)

type nothing struct{}

var emptyJob = millrace.Define[nothing, any]("empty", millrace.Queue("empty"))

// BenchmarkWorker runs empty handlers, on a server that syncs each commit to disk:
//
//	go test -run - -bench Worker -benchtime 100000x .
func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(concurrency), func(b *testing.B) { benchmarkWorker(b, concurrency) })
	}
}

func benchmarkWorker(b *testing.B, concurrency int) {
	client := must[*millrace.Client](b)(millrace.New(millrace.Options{URL: testserver.New(b).URL}))
	submitMany(b, client, b.N)
	ctx, cancel := context.WithCancel(context.Background())
	worker := client.Worker(millrace.Queues("empty"), millrace.Concurrency(concurrency))
	var done atomic.Int64
	millrace.Handle(worker, emptyJob, func(context.Context, nothing) (any, error) {
		if done.Add(1) == int64(b.N) {
			cancel()
		}
		return nil, nil
	})
	b.ResetTimer()
	if err := worker.Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

func submitMany(tb testing.TB, client *millrace.Client, n int) {
	tb.Helper()
	for left := n; left > 0; {
		batch := make([]millrace.NewJob, min(left, millrace.MaxBatch))
		for i := range batch {
			batch[i] = emptyJob.Job(nothing{})
		}
		if _, err := client.SubmitBatch(context.Background(), batch); err != nil {
			tb.Fatal(err)
		}
		left -= len(batch)
	}
}
