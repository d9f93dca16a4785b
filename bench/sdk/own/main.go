// Millrace for Go.
package main

import (
	"context"

	millrace "github.com/millrace/millrace/sdk/go"
)

type mail struct {
	To string `json:"to"`
}

var empty = millrace.Define[mail]("bench.empty")

func main() {
	_, jobs, port := arguments()
	tally := &Tally{jobs: int64(jobs)}
	client := millrace.New(millrace.Options{URL: "http://127.0.0.1:" + port})
	worker := client.Worker(millrace.Concurrency(16), millrace.StopOnSignals())
	millrace.Handle(worker, empty, func(context.Context, mail) (any, error) {
		tally.Ran()
		return nil, nil
	})
	check(worker.Run(context.Background()))
}
