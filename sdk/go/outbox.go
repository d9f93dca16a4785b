package millrace

import "time"

// outbox holds the outcomes that no request carries yet.
type outbox struct {
	waiting []*outgoing
	// later holds outcomes that the server refused for now; each waits until its `since`.
	later []*outgoing
	// alone holds outcomes that are sent one by one, as they may be why a request was refused.
	alone []*outgoing
}

func (b *outbox) add(o *outgoing) { b.waiting = append(b.waiting, o) }

// promote moves the delayed outcomes whose time has come to the others.
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

// giveBack puts unanswered outcomes in front of the others.
func (b *outbox) giveBack(taken []*outgoing) {
	if len(taken) > 0 {
		b.waiting = append(taken, b.waiting...)
	}
}

// take removes and returns as many outcomes as fit into one request, oldest first.
func (b *outbox) take() []*outgoing {
	n, bytes := 0, 0
	for n < len(b.waiting) && n < mostItems {
		bytes += b.waiting[n].size()
		if n > 0 && bytes > mostOutcomeBytes {
			break
		}
		n++
	}
	taken := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return taken
}

// takeAlone removes and returns the first outcome of alone whose time has come; nil if there is none.
func (b *outbox) takeAlone(now time.Time) *outgoing {
	for i, o := range b.alone {
		if !o.since.After(now) {
			b.alone = append(b.alone[:i], b.alone[i+1:]...)
			return o
		}
	}
	return nil
}

// due returns when the waiting outcomes must be sent; zero if there are none.
func (b *outbox) due(delay time.Duration) time.Time {
	if len(b.waiting) == 0 {
		return time.Time{}
	}
	if len(b.waiting) >= manyOutcomes {
		delay = 0
	}
	return b.waiting[0].since.Add(delay)
}

// laterDue returns when the next delayed outcome may be sent; zero if there are none.
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

// earliest treats zero as never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
