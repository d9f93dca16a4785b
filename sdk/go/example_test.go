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

func ExampleError() {
	fake := millracetest.New(millracetest.Drained)
	_, err := fake.Submit(context.Background(), millrace.NewJob{Type: "not a name"})
	var e *millrace.Error
	if errors.Is(err, millrace.ErrValidationFailed) && errors.As(err, &e) {
		fmt.Println(e.Status, e.Errors[0].Where)
	}
	// Output: 422 /type
}
