package millrace_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

type Report struct{ Month int }

var makeReport = millrace.Define[Report, string]("report.make", millrace.Queue("reports"), millrace.MaxAttempts(3))

// The fake of package millracetest runs handlers without a server.
func ExampleHandle() {
	fake := millracetest.New(millracetest.Drained)
	millrace.Handle(fake, makeReport, func(ctx context.Context, r Report) (string, error) {
		if millrace.JobFrom(ctx).Attempt == 1 {
			return "", millrace.RetryAfter(time.Minute, errors.New("the numbers are not in yet"))
		}
		return fmt.Sprintf("report of month %d", r.Month), nil
	})
	ctx := context.Background()
	job, _ := makeReport.Submit(ctx, fake, Report{Month: 3})
	fake.Drain(ctx)
	fake.Advance(time.Minute)
	fake.Drain(ctx)
	ended, _ := makeReport.Wait(ctx, fake, job.ID, 0)
	fmt.Println(ended.State, ended.Attempt, ended.Result)
	// Output: succeeded 2 report of month 3
}

// What needs others gets their results.
func ExampleNewWorkflow() {
	count := millrace.Define[string, int]("count")
	sum := millrace.Define[any, int]("sum")
	fake := millracetest.New(millracetest.Drained)
	millrace.Handle(fake, count, func(_ context.Context, text string) (int, error) { return len(text), nil })
	millrace.Handle(fake, sum, func(ctx context.Context, _ any) (int, error) {
		first, err := millrace.ParentResult[int](ctx, "first")
		second, err2 := millrace.ParentResult[int](ctx, "second")
		return first + second, errors.Join(err, err2)
	})

	flow := millrace.NewWorkflow{Name: "letters", ResultFrom: "sum"}
	first := flow.Add("first", count.Job("one"))
	second := flow.Add("second", count.Job("three"))
	flow.Add("sum", sum.Job(nil), millrace.Needs(first, second))

	ctx := context.Background()
	created, _ := fake.CreateWorkflow(ctx, flow)
	fake.Drain(ctx)
	ended, _ := fake.WaitWorkflow(ctx, created.ID, 0)
	fmt.Println(ended.State, string(ended.Result))
	// Output: succeeded 8
}

func ExampleError() {
	fake := millracetest.New(millracetest.Drained)
	_, err := fake.Submit(context.Background(), millrace.NewJob{Type: "not a name"})
	var e *millrace.Error
	if errors.Is(err, millrace.ErrValidationFailed) && errors.As(err, &e) {
		fmt.Println(e.Status, e.Errors[0].Where)
	}
	// Output: 422 /type
}
