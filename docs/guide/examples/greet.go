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

var Greet = millrace.Define[Person]("greet", millrace.Queue("greetings"))

func main() {
	ctx, stop := context.WithCancel(context.Background())
	client := millrace.New(millrace.Options{}) // MILLRACE_URL, MILLRACE_TOKEN
	worker := client.Worker(millrace.Queues("greetings"), millrace.Concurrency(4))
	millrace.Handle(worker, Greet, func(ctx context.Context, p Person) (any, error) {
		millrace.JobFrom(ctx).Progress(50, "halfway")
		return "Hello, " + p.Name, nil
	})
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()

	job, err := Greet.Submit(ctx, client, Person{Name: "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	done, err := client.Wait(ctx, job.ID, 30*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", done.Result)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}
