package millrace

import (
	"math/rand"
	"time"
)

// backoff computes the pauses between tries: random between 0 and a bound that doubles each time, so
// that the clients of a server that was away do not all return at the same instant.
type backoff struct{ tries int }

func (b *backoff) next() time.Duration {
	bound := longestPause
	if b.tries < 6 {
		bound = min(firstPause<<b.tries, longestPause)
	}
	b.tries++
	return time.Duration(rand.Int63n(int64(bound) + 1))
}

func (b *backoff) reset() { b.tries = 0 }
