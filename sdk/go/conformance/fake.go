package main

import (
	"context"
	"encoding/json"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

func (p *program) attach(fake *millracetest.Fake, types []string) {
	for _, name := range types {
		fake.Register(name, p.handler("fake", fake))
	}
}

// doFake runs a command that a fake supports. It returns false for any other command.
func (p *program) doFake(ctx context.Context, fake *millracetest.Fake, c *command) (any, bool, error) {
	switch c.Do {
	case "submit":
		var job millrace.NewJob
		if err := json.Unmarshal(c.Job, &job); err != nil {
			return nil, true, err
		}
		return answer(fake.Submit(ctx, job))
	case "submit_batch":
		return answer(c.submitBatch(ctx, fake))
	case "get":
		return answer(fake.Get(ctx, c.id(), c.Include...))
	case "wait":
		return answer(fake.Wait(ctx, c.id(), ms(c.TimeoutMs)))
	case "list":
		return answer(fake.List(ctx, c.jobFilter()))
	case "cancel":
		return answer(fake.Cancel(ctx, c.id(), c.Reason))
	case "retry":
		return answer(fake.Retry(ctx, c.id()))
	case "drain":
		p.attach(fake, c.Types)
		return object{"ran": fake.Drain(ctx)}, true, nil
	case "advance":
		fake.Advance(ms(c.Ms))
		return object{}, true, nil
	case "enqueued":
		return object{"jobs": fake.Enqueued(c.Type)}, true, nil
	}
	return nil, false, nil
}

func answer[T any](value T, err error) (any, bool, error) { return value, true, err }
