// asynq: one task a call, from 16 goroutines, since it has no batches; one server with a concurrency of 16.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/hibiken/asynq"
)

const lanes = 16

func main() {
	role, jobs, port := arguments()
	redis := asynq.RedisClientOpt{Addr: "127.0.0.1:" + port}
	if role == "enqueue" {
		enqueue(redis, jobs)
	} else {
		work(redis, jobs)
	}
}

func enqueue(redis asynq.RedisClientOpt, jobs int) {
	client := asynq.NewClient(redis)
	defer client.Close()
	var all sync.WaitGroup
	for lane := 0; lane < lanes; lane++ {
		all.Add(1)
		go func(lane int) {
			defer all.Done()
			for job := lane; job < jobs; job += lanes {
				_, err := client.Enqueue(asynq.NewTask("bench:empty", []byte(`{"to":"ada@example.org"}`)))
				check(err)
			}
		}(lane)
	}
	all.Wait()
	fmt.Printf("ended {\"jobs\": %d}\n", jobs)
}

func work(redis asynq.RedisClientOpt, jobs int) {
	tally := &Tally{jobs: int64(jobs)}
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 16, LogLevel: asynq.ErrorLevel})
	mux := asynq.NewServeMux()
	mux.HandleFunc("bench:empty", func(context.Context, *asynq.Task) error {
		tally.Ran()
		return nil
	})
	check(server.Run(mux)) // until SIGTERM
}
