// A producer and a worker in one program.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

type Person struct{ Name string }

var Greet = millrace.Define[Person, string]("greet", millrace.Queue("greetings"))

func main() {
	ctx, stop := context.WithCancel(context.Background())
	client, err := millrace.New(millrace.Options{}) // MILLRACE_URL, MILLRACE_TOKEN
	if err != nil {
		log.Fatal(err)
	}
	worker := client.Worker(millrace.Queues("greetings"), millrace.Concurrency(4))
	millrace.Handle(worker, Greet, func(ctx context.Context, p Person) (string, error) {
		millrace.JobFrom(ctx).Progress(50, "halfway")
		return "Hello, " + p.Name, nil
	})
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()

	job, err := Greet.Submit(ctx, client, Person{Name: "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	done, err := Greet.Wait(ctx, client, job.ID, 30*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Result)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}
