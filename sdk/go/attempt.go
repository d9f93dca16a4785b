package millrace

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// attempt is a claimed job, as the worker's run sees it.
type attempt struct {
	key   leaseKey
	job   *JobContext
	third time.Duration // of the lease's length
	// certain is the instant until which the lease surely lasts: its length after the request that
	// brought or extended it was sent. All instants here are of the monotonic clock.
	certain  time.Time
	nextBeat time.Time
	timesOut time.Time // zero: the attempt has no time limit
	newsDue  time.Time // when lines and progress must be sent; zero: there are none
	started  bool      // false: the claim's answer was late, and a heartbeat must succeed first
	beating  bool      // a heartbeat is under way
	lining   bool      // lines are under way
	told     error
	lost     bool      // the server will not accept the handler's outcome
	givenUp  bool      // released while the handler runs on
	telling  bool      // the heartbeat under way carries progress
	ended    *outgoing // waits for the answers to the lines and the progress
}

// book holds the next instants at which the attempts need something; zero: never. They may be too
// early, but never too late.
type book struct {
	expiry  time.Time // of a lease or an attempt's time
	report  time.Time // of a heartbeat, lines or progress
	overdue time.Time // of a heartbeat that a report under way keeps waiting
}

func (b *book) note(a *attempt) {
	if a.lost {
		return
	}
	if a.started && (a.ended == nil || a.job.hasProgress()) {
		b.expiry = earliest(b.expiry, a.certain)
		if a.told == nil && a.ended == nil {
			b.expiry = earliest(b.expiry, a.timesOut)
		}
	}
	if !a.beating && (a.ended == nil || a.job.hasProgress()) {
		b.report = earliest(b.report, a.nextBeat)
		b.overdue = earliest(b.overdue, a.nextBeat.Add(a.third/2))
	}
	if !a.lining && a.ended == nil {
		b.report = earliest(b.report, a.newsDue)
	}
}

func (c *core) renewBook() {
	c.book = book{}
	for _, a := range c.attempts {
		c.book.note(a)
	}
	for a := range c.parting {
		c.book.note(a)
	}
}

const defaultLease = 30 * time.Second // the server's default, for answers without a lease's length

// admit takes a job that a request, sent at `sent`, has claimed.
func (c *core) admit(now, sent time.Time, job ClaimedJob) {
	length := durationOf(job.Lease.LengthMs)
	if length <= 0 {
		length = defaultLease
	}
	a := &attempt{
		key: leaseKey{job.ID, job.Lease.Token}, third: length / 3, certain: sent.Add(length), nextBeat: now,
	}
	if c.stop.begun {
		c.outbox.add(a.outgoing(now, Outcome{Kind: "released"}))
		return
	}
	a.job = newJobContext(c.ctx, job, c.stopping)
	a.job.hasNews = func() { c.tell(func(in *inbox) { in.news = append(in.news, a) }) }
	c.attempts[a.key] = a
	c.bound(now, a, length)
	if now.Sub(sent) <= a.third {
		c.start(a)
	}
	c.book.note(a)
}

// bound finds out when the attempt times out. A lease never outlasts its attempt's deadline. Where both
// end together, the deadline does not tell the timeout's length, so the worker asks for the job.
func (c *core) bound(now time.Time, a *attempt, length time.Duration) {
	job := &a.job.ClaimedJob
	switch {
	case job.TimeoutMs > 0:
		a.timesOut = now.Add(durationOf(job.TimeoutMs))
	case job.Deadline.IsZero():
	case job.Lease.ExpiresAt.Before(job.Deadline):
		a.timesOut = now.Add(job.Deadline.Sub(job.Lease.ExpiresAt.Add(-length)))
	default:
		go func() {
			m := openObject(nil)
			m.number("token", a.key.token)
			ctx, cancel := context.WithTimeout(a.job.ctx, length)
			defer cancel()
			answer, err := fetch[Job](ctx, c.client, post(jobPath(a.key.id, "/heartbeat"), m.close()))
			if err == nil && answer.Timeout > 0 {
				timeout := timeout{a, now.Add(answer.Timeout)}
				c.tell(func(in *inbox) { in.timeouts = append(in.timeouts, timeout) })
			}
		}()
	}
}

// timeout tells run when an attempt times out.
type timeout struct {
	*attempt
	at time.Time
}

func (c *core) start(a *attempt) {
	a.started = true
	a.nextBeat = a.certain.Add(-2 * a.third)
	handler := c.handlers[a.job.Type]
	go func() {
		outcome := failedWith(AttemptError{
			Type: "goexit", Message: "the handler ended its goroutine by runtime.Goexit", Retryable: true,
		})
		defer func() { // also after a Goexit, such as that of testing.T's FailNow
			c.logFailure(&a.job.ClaimedJob, &outcome)
			f := finished{attempt: a, outcome: outcome, lines: a.job.lastLines()}
			a.job.end(nil)
			c.tell(func(in *inbox) { in.finished = append(in.finished, f) })
		}()
		outcome = a.job.run(handler)
	}()
}

// logFailure logs a failed attempt. One with a delay is a RetryAfter: the handler meant it, and nobody
// need be warned.
func (c *core) logFailure(job *ClaimedJob, outcome *Outcome) {
	e := outcome.Error
	if e == nil {
		return
	}
	level, next := slog.LevelWarn, "the server tries it again"
	if !e.Retryable || job.Attempt >= job.MaxAttempts {
		next = "the job is dead"
	} else if outcome.HasDelay {
		level = slog.LevelInfo
	}
	c.say(level, "an attempt failed", "job", job.ID, "type", job.Type, "attempt", job.Attempt,
		"max_attempts", job.MaxAttempts, "error_type", e.Type, "error", e.Message, "next", next)
}

func (a *attempt) outgoing(now time.Time, outcome Outcome) *outgoing {
	return &outgoing{leaseKey: a.key, outcome: outcome, since: now, leaseThird: a.third}
}

// finish takes the outcome of an attempt.
func (c *core) finish(now time.Time, f finished) {
	if f.givenUp {
		return
	}
	delete(c.attempts, f.key)
	// A handler may end before it is told, for example when its process resumes after a pause. Its
	// outcome is sent, and the server decides whether it counts.
	if f.outcome.Kind == "" || f.lost && f.told != ErrLeaseLost {
		return
	}
	o := f.outgoing(now, f.outcome)
	o.lines = f.lines
	for _, text := range f.outcome.LastLines {
		o.lines = append(o.lines, line{time.Now(), "info", cut(text, maxLineBytes)})
	}
	c.part(now, f.attempt, o)
}

// part sends an attempt's outcome after the data that must precede it, as the server refuses it once the
// job has ended: lines under way, which the outcome could overtake on the other connection; and the
// progress that was reported last.
func (c *core) part(now time.Time, a *attempt, o *outgoing) {
	if len(o.lines) > maxLines {
		o.lines = o.lines[len(o.lines)-maxLines:]
	}
	a.ended = o
	c.parting[a] = true
	a.nextBeat = now
	if a.lost {
		a.job.dropProgress()
		a.telling = false
	}
	c.letGo(a)
	c.book.note(a)
}

// letGo sends the outcome of a parting attempt if nothing must precede it any more.
func (c *core) letGo(a *attempt) {
	if c.parting[a] && !a.lining && !a.telling && !a.job.hasProgress() {
		delete(c.parting, a)
		c.outbox.add(a.ended)
	}
}

func (c *core) hasNews(now time.Time, a *attempt) {
	const delay = 900 * time.Millisecond // a second in all
	if c.attempts[a.key] == a && a.newsDue.IsZero() {
		a.newsDue = now.Add(delay)
		c.book.note(a)
	}
}

// end tells a handler, once, that it should end. A handler that has not started never starts.
func (c *core) end(now time.Time, a *attempt, cause error) {
	if cause == ErrLeaseLost {
		a.lost = true
	}
	if !a.started {
		delete(c.attempts, a.key)
		switch cause {
		case ErrCancelled:
			c.outbox.add(a.outgoing(now, Outcome{Kind: "cancelled"}))
		case ErrStopping:
			c.outbox.add(a.outgoing(now, Outcome{Kind: "released"}))
		}
		a.job.end(nil)
		return
	}
	if a.told == nil {
		a.told = cause
		a.job.end(cause)
	}
}

// loseExpired ends the handlers whose lease is no longer certain or whose attempt has timed out.
func (c *core) loseExpired(now time.Time) {
	if c.book.expiry.IsZero() || c.book.expiry.After(now) {
		return
	}
	for _, a := range c.attempts {
		switch {
		case !a.started || a.lost:
		case !a.certain.After(now):
			c.warn("the lease ran out before the server extended it", "job", a.key.id)
			c.end(now, a, ErrLeaseLost)
		case a.told == nil && !a.timesOut.IsZero() && !a.timesOut.After(now):
			c.end(now, a, ErrTimedOut)
		}
	}
	for a := range c.parting {
		if !a.certain.After(now) {
			a.job.dropProgress() // too late for it; the server says whether it is for the outcome
			c.letGo(a)
		}
	}
	c.renewBook()
}

const maxReportBytes = 8 << 20 // of lines and progress, half of the server's bound on a body

// collect adds the heartbeats and lines that are due or soon will be.
func (c *core) collect(now time.Time, request *pollRequest) {
	lines, room := 0, maxReportBytes
	for _, a := range c.attempts {
		if a.lost {
			continue
		}
		hasNews := !a.newsDue.IsZero() && a.newsDue.Before(now.Add(100*time.Millisecond))
		if hasNews && !a.lining && lines < maxLines && room > 0 {
			taken := a.job.takeLines(min(maxLines-lines, room/maxLineBytes))
			for i := range taken {
				room -= len(taken[i].message) + 128
			}
			if len(taken) > 0 {
				a.lining = true
				lines += len(taken)
				request.lines = append(request.lines, jobLines{a, taken})
			}
		}
		isDue := !a.nextBeat.After(now.Add(a.third / 8))
		if a.beating || !isDue && !hasNews || len(request.heartbeats) == mostItems || room <= 0 {
			continue
		}
		progress := a.job.takeProgress()
		if progress == nil && !isDue {
			a.newsDue = a.moreNews(now)
			continue
		}
		if progress != nil {
			room -= len(progress.Checkpoint) + 2*maxProgressMessage
		}
		a.newsDue = a.moreNews(now)
		a.beating, a.telling = true, progress != nil
		request.heartbeats = append(request.heartbeats, heartbeat{a, progress})
	}
	for a := range c.parting {
		if a.beating || a.nextBeat.After(now) || len(request.heartbeats) == mostItems || room <= 0 {
			continue
		}
		if progress := a.job.takeProgress(); progress != nil {
			room -= len(progress.Checkpoint) + 2*maxProgressMessage
			a.beating, a.telling = true, true
			request.heartbeats = append(request.heartbeats, heartbeat{a, progress})
		}
	}
	c.renewBook()
}

// moreNews returns when the remaining lines must be sent, if not all had room.
func (a *attempt) moreNews(now time.Time) time.Time {
	a.job.mutex.Lock()
	defer a.job.mutex.Unlock()
	if len(a.job.lines) > 0 || a.job.progressWait {
		a.job.told = true
		return now.Add(time.Millisecond)
	}
	a.job.told = false
	return time.Time{}
}

// takeHeartbeats reads the answers to heartbeats.
func (c *core) takeHeartbeats(now time.Time, request *pollRequest, results []itemResult) {
	for i, beat := range request.heartbeats {
		a := beat.attempt
		a.beating, a.telling = false, false
		if c.attempts[a.key] != a && !c.parting[a] {
			continue // the attempt was given up meanwhile
		}
		if i >= len(results) {
			c.beatAgain(a, beat.progress, now.Add(pauseAfterRefusal))
			continue
		}
		switch e := results[i].refusal(); {
		case e == nil:
			a.certain = request.sent.Add(3 * a.third)
			a.nextBeat = request.sent.Add(a.third)
			if a.ended != nil {
				break
			}
			if results[i].CancelRequested {
				c.end(now, a, ErrCancelled)
			} else if !a.started && !a.lost {
				c.start(a)
			}
		case errors.Is(e, ErrLeaseLost):
			if a.ended == nil {
				c.end(now, a, ErrLeaseLost)
			}
		case e.isTemporary():
			c.beatAgain(a, beat.progress, now.Add(max(pauseAfterRefusal, e.RetryAfter)))
		default:
			c.warn("the server refused a heartbeat", "job", a.key.id, "error", e)
			c.beatAgain(a, nil, now.Add(pauseAfterRefusal))
		}
		c.letGo(a)
		c.book.note(a)
	}
}

// beatAgain repeats a heartbeat that failed, without its progress if that may be the reason.
func (c *core) beatAgain(a *attempt, progress *Progress, when time.Time) {
	a.nextBeat = when
	if progress != nil {
		a.job.giveBackProgress()
	}
	c.letGo(a)
	c.book.note(a)
}
