package millrace

import "time"

const (
	maxItems = 1000 // of one kind in one round trip, as the server bounds them
	// Well below the server's 16 MiB for a body, which holds heartbeats and lines, too.
	maxOutcomeBytes = 6 << 20
	enoughOutcomes  = 64 // they go without waiting for more
	outcomeDelay    = 5 * time.Millisecond
)

// outbox has the outcomes that nobody has taken to the server yet.
type outbox struct {
	waiting []*outgoing
	// later are those that the server refused for now; each waits until its `since`.
	later []*outgoing
	// alone are those that go without others, as they may be why a request was refused.
	alone []*outgoing
}

func (b *outbox) add(o *outgoing) { b.waiting = append(b.waiting, o) }

// promote moves those whose time has come to the others.
func (b *outbox) promote(now time.Time) {
	rest := b.later[:0]
	for _, o := range b.later {
		if o.since.After(now) {
			rest = append(rest, o)
		} else {
			b.add(o)
		}
	}
	b.later = rest
}

// giveBack puts outcomes without an answer in front of the others.
func (b *outbox) giveBack(taken []*outgoing) {
	if len(taken) > 0 {
		b.waiting = append(taken, b.waiting...)
	}
}

// take returns as many as fit into one request, oldest first.
func (b *outbox) take() []*outgoing {
	n, bytes := 0, 0
	for n < len(b.waiting) && n < maxItems {
		bytes += b.waiting[n].size()
		if n > 0 && bytes > maxOutcomeBytes {
			break
		}
		n++
	}
	taken := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return taken
}

// takeAlone returns the first whose time has come; nil if there is none.
func (b *outbox) takeAlone(now time.Time) *outgoing {
	for i, o := range b.alone {
		if !o.since.After(now) {
			b.alone = append(b.alone[:i], b.alone[i+1:]...)
			return o
		}
	}
	return nil
}

// due is when the outcomes that wait must go; zero if there are none.
func (b *outbox) due(delay time.Duration) time.Time {
	if len(b.waiting) == 0 {
		return time.Time{}
	}
	if len(b.waiting) >= enoughOutcomes {
		delay = 0
	}
	return b.waiting[0].since.Add(delay)
}

// laterDue is when the next of those that wait for a time may go; zero if there are none.
func (b *outbox) laterDue() time.Time {
	var due time.Time
	for _, o := range b.alone {
		due = earliest(due, o.since)
	}
	for _, o := range b.later {
		due = earliest(due, o.since)
	}
	return due
}

func (b *outbox) size() int { return len(b.waiting) + len(b.later) + len(b.alone) }

// earliest takes zero as never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
