package main

import (
	"context"

	"github.com/millrace/millrace/sdk/go/millracetest"
)

func (p *program) attach(fake *millracetest.Fake, types []string) {
	for _, name := range types {
		fake.Register(name, p.handler("fake", fake))
	}
}

// doFake runs a command that only a fake has. It returns false for any other, which goes by its client.
func (p *program) doFake(ctx context.Context, fake *millracetest.Fake, c *command) (any, bool) {
	switch c.Do {
	case "drain":
		p.attach(fake, c.Types)
		return object{"ran": fake.Drain(ctx)}, true
	case "advance":
		fake.Advance(ms(c.Ms))
		return object{}, true
	case "enqueued":
		return object{"jobs": fake.Enqueued(c.Type)}, true
	}
	return nil, false
}
