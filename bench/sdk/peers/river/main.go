// River: InsertManyFast of 1,000, one client with 16 workers that may fetch every millisecond, the least that it allows
// (the default of 100 ms would make it 160 jobs a second). A job counts when its completion is in the database, which
// River writes in batches.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type mail struct {
	To string `json:"to"`
}

func (mail) Kind() string { return "bench.empty" }

type empty struct {
	river.WorkerDefaults[mail]
}

func (*empty) Work(context.Context, *river.Job[mail]) error { return nil }

func main() {
	role, jobs, port := arguments()
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("postgres://bench@127.0.0.1:" + port + "/bench")
	check(err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)
	if role == "enqueue" {
		enqueue(ctx, pool, jobs)
	} else {
		work(ctx, pool, jobs)
	}
}

func enqueue(ctx context.Context, pool *pgxpool.Pool, jobs int) {
	client, err := river.NewClient[pgx.Tx](riverpgxv5.New(pool), &river.Config{})
	check(err)
	for left := jobs; left > 0; left -= 1000 {
		batch := make([]river.InsertManyParams, min(1000, left))
		for i := range batch {
			batch[i] = river.InsertManyParams{Args: mail{To: "ada@example.org"}}
		}
		_, err := client.InsertManyFast(ctx, batch)
		check(err)
	}
	fmt.Printf("ended {\"jobs\": %d}\n", jobs)
}

func work(ctx context.Context, pool *pgxpool.Pool, jobs int) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &empty{})
	client, err := river.NewClient[pgx.Tx](riverpgxv5.New(pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 16}},
		Workers:       workers,
		FetchCooldown: time.Millisecond,
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	check(err)
	tally := &Tally{jobs: int64(jobs)}
	completed, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: jobs + 1, Kinds: []river.EventKind{river.EventKindJobCompleted},
	})
	defer unsubscribe()
	go func() {
		for range completed {
			tally.Ran()
		}
	}()
	check(client.Start(ctx))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	check(client.Stop(ctx))
}
