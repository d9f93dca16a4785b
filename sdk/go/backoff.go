package millrace

import (
	"math/rand"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// backoff computes the pauses between tries: random between 0 and a bound that doubles each time, so
// that the clients of a server that was away do not all return at the same instant.
type backoff struct{ tries int }

func (b *backoff) next() time.Duration {
	bound := maxPause
	if b.tries < 6 {
		bound = min(firstPause<<b.tries, maxPause)
	}
	b.tries++
	return time.Duration(rand.Int63n(int64(bound) + 1))
}

func (b *backoff) reset() { b.tries = 0 }
