// Command emails sends 2,000 e-mails: idempotent submissions, retries, dead letters, a clean stop.
package main

import (
	"context"
	"fmt"
	"log"

	millrace "github.com/millrace/millrace/sdk/go"
)

func main() {
	client, err := millrace.New(millrace.Options{})
	ctx, jobs := context.Background(), make([]millrace.NewJob, 2000)
	if err != nil {
		log.Fatal(err)
	}
	mail := millrace.Define[int, any]("mail.send", millrace.Queue("mail"))
	for n := range jobs {
		jobs[n] = mail.Job(n, millrace.IdempotencyKey(fmt.Sprint("newsletter-7/", n)))
	}
	fmt.Println("refused:", millrace.SubmitAll(ctx, client, jobs))
	worker := client.Worker(millrace.Queues("mail"), millrace.StopOnSignals(), millrace.StopWhenEmpty())
	millrace.Handle(worker, mail, func(ctx context.Context, n int) (any, error) {
		if n%100 == 1 {
			return nil, millrace.NonRetryable(fmt.Errorf("mail %d has no address", n))
		} else if n%10 == 0 && millrace.JobFrom(ctx).Attempt == 1 {
			return nil, millrace.RetryAfter(0, fmt.Errorf("the mail server is busy"))
		}
		return nil, nil
	})
	fmt.Println("worker:", worker.Run(ctx))
	if queue, err := client.Queue(ctx, "mail"); err == nil {
		fmt.Println(queue.Counts.Succeeded, "sent,", queue.Counts.Dead, "dead")
	}
}
