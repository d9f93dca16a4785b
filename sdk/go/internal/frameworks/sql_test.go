// Package frameworks tests the SDK with the libraries of its users. It is a module of its own, so that
// the SDK needs none of them.
package frameworks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/internal/testserver"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

var ctx = context.Background()

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

type text struct{ Text string }

var work = millrace.Define[text, any]("work", millrace.Queue("q"), millrace.Delay(time.Hour), millrace.Tags("a", "b"))

// arrived waits until the server has a job that a transaction submitted.
func arrived(t *testing.T, client *millrace.Client, id string) *millrace.Job {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		job, err := client.Get(ctx, id, "payload")
		if err == nil {
			return job
		}
		if !errors.Is(err, millrace.ErrNotFound) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestAJobComesIfAndOnlyIfItsTransactionCommits(t *testing.T) {
	url := testserver.Postgres(t)
	client := must(millrace.New(millrace.Options{URL: testserver.New(t, "--postgres", url).URL}))(t)
	must(client.PutLimit(ctx, "l", millrace.LimitSettings{Concurrency: millrace.Ptr(3)}))(t)
	t.Run("pgx", func(t *testing.T) {
		db := must(pgx.Connect(ctx, url))(t)
		defer db.Close(ctx)
		tx := must(db.Begin(ctx))(t)
		lost := must(work.SubmitTx(ctx, client, millrace.Pgx(tx), text{"lost"}))(t)
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		tx = must(db.Begin(ctx))(t)
		id := must(work.SubmitTx(ctx, client, millrace.Pgx(tx), text{"it's $1"}, millrace.Priority(-3),
			millrace.MaxAttempts(7), millrace.Lease(5*time.Second), millrace.Timeout(6*time.Second),
			millrace.ExpiresAt(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)), millrace.Meta("tenant", "acme"),
			millrace.Retry(millrace.RetryPolicy{Strategy: "fixed", Base: time.Second}),
			millrace.Unique(millrace.UniqueKey{Key: "u", For: time.Minute, OnConflict: "reject"}),
			millrace.Limits(millrace.JobLimit{Name: "l", Cost: 2}), millrace.OrderKey("o"),
			millrace.OrderOnFailure("pass"), millrace.FairKey("f"),
			millrace.Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b")))(t)
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		job := arrived(t, client, id)
		shown := fmt.Sprintln(string(job.Payload), job.State, job.Priority, job.MaxAttempts, job.Lease, job.Timeout,
			job.ExpiresAt.Year(), job.Meta, job.Tags, job.Retry.Strategy, job.Retry.Base, job.Unique.Key,
			job.Unique.OnConflict, job.Limits, job.OrderKey, job.OrderOnFailure, job.FairKey, job.Traceparent[3:9])
		want := `{"Text": "it's $1"} scheduled -3 7 5s 6s 2040 map[tenant:acme] [a b] fixed 1s u reject ` +
			"[{l   2}] o pass f 0af765\n"
		if shown != want {
			t.Errorf("the job is\n%s, not\n%s", shown, want)
		}
		if _, err := client.Get(ctx, lost); !errors.Is(err, millrace.ErrNotFound) {
			t.Error("a job of a transaction that was rolled back:", err)
		}
	})
	t.Run("database/sql", func(t *testing.T) {
		db := must(sql.Open("pgx", url))(t)
		defer db.Close()
		tx := must(db.BeginTx(ctx, nil))(t)
		key := millrace.NewJob{Type: "t", Queue: "q", IdempotencyKey: "k", RunAt: time.Now().Add(time.Hour), Payload: 7}
		id := must(client.SubmitTx(ctx, millrace.SQL(tx), key))(t)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if job := arrived(t, client, id); string(job.Payload) != "7" || job.State != millrace.Scheduled {
			t.Errorf("the job is %+v", job)
		}
		tx = must(db.BeginTx(ctx, nil))(t)
		defer tx.Rollback()
		if _, err := client.SubmitTx(ctx, millrace.SQL(tx), millrace.NewJob{Type: "t", Priority: 1e5}); err == nil {
			t.Error("a job with a wrong priority was taken")
		}
	})
}

func TestTheFakeNeedsNoTransaction(t *testing.T) {
	fake := millracetest.New(millracetest.Drained)
	id := must(work.SubmitTx(ctx, fake, nil, text{"x"}))(t)
	if jobs := fake.Enqueued("work"); len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("the fake has %v", jobs)
	}
}
