package millrace

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// take reads the answer of a round trip.
func (c *core) take(now time.Time, x answered) {
	x.lane.busy, x.lane.waits = false, false
	c.asked -= x.request.claim
	c.inFlight -= len(x.request.outcomes)
	for _, of := range x.request.lines {
		c.linesAnswered(of, x.err)
	}
	if x.err != nil {
		c.failed(now, x, asError(x.err))
		return
	}
	c.reached()
	for i := range x.answer.Jobs {
		c.admit(now, x.request.sent, x.answer.Jobs[i])
	}
	c.takeOutcomes(now, x.request.outcomes, x.answer.Acks)
	c.takeHeartbeats(now, x.request, x.answer.Heartbeats)
	for _, order := range x.answer.Commands {
		c.obey(now, order)
	}
	if c.config.untilEmpty && x.request.wait > 0 && len(x.answer.Jobs) == 0 {
		c.countJobs()
	}
	early := now.Sub(x.request.sent) < x.request.wait/2
	if early && len(x.answer.Jobs)+len(x.answer.Commands) == 0 {
		x.lane.pause(now, &Error{}, longestPause) // a server that is stopping does not let claims wait
		return
	}
	x.lane.pauses.reset()
	x.lane.notBefore = time.Time{}
}

func (c *core) obey(now time.Time, order command) {
	switch order.Type {
	case "cancel":
		if a := c.attempts[leaseKey{order.JobID, order.Token}]; a != nil {
			c.end(now, a, ErrCancelled)
		}
	case "quiet":
		if !c.quiet {
			c.say(slog.LevelInfo, "the server told the worker to claim no more")
			c.quiet, c.nextPing = true, now.Add(c.config.pollWait)
		}
	case "stop":
		if !c.stop.begun {
			c.say(slog.LevelInfo, "the server told the worker to stop")
			c.beginStop(now)
		}
	}
}

// takeOutcomes reads the answers to outcomes.
func (c *core) takeOutcomes(now time.Time, sent []*outgoing, results []itemResult) {
	for i, o := range sent {
		if i >= len(results) {
			o.since = now.Add(pauseAfterRefusal)
			c.outbox.later = append(c.outbox.later, o)
			continue
		}
		switch e := results[i].refusal(); {
		case e == nil:
		case errors.Is(e, ErrLeaseLost):
			c.warn("the lease was lost before the outcome was reported", "job", o.id)
		case e.isTemporary():
			o.since = now.Add(max(pauseAfterRefusal, e.RetryAfter))
			c.outbox.later = append(c.outbox.later, o)
		default:
			c.refused(now, o, e)
		}
	}
}

// refused replaces an outcome that the server will never accept with a failure that says why.
func (c *core) refused(now time.Time, o *outgoing, e *Error) {
	c.warn("the server refused an outcome", "job", o.id, "error", e)
	if o.isSubstitute {
		return
	}
	c.outbox.add(&outgoing{
		leaseKey: o.leaseKey, outcome: refusedOutcome("the server refused the outcome: " + e.Message + faults(e)),
		lines: o.lines, since: now, leaseThird: o.leaseThird, isSubstitute: true,
	})
}

func faults(e *Error) string {
	text := ""
	for _, fault := range e.Errors {
		text += "; " + fault.Where + ": " + fault.Detail
	}
	return text
}

// failed handles a request that failed as a whole.
func (c *core) failed(now time.Time, x answered, e *Error) {
	if errors.Is(e, context.Canceled) {
		if x.lane == &c.claimer {
			return // the stop broke the claim off
		}
		e.Message = "no answer in time"
	}
	mostPause := longestPause
	if x.lane == &c.reporter {
		mostPause = c.shortestThird() / 2 // the retry comes before the leases end
	}
	x.lane.pause(now, e, mostPause)
	isLoose := e.isTemporary() || len(x.request.outcomes) == 0
	if e.isTemporary() || !endsWork(e) {
		c.lost(e)
	}
	for _, beat := range x.request.heartbeats {
		beat.attempt.beating, beat.attempt.telling = false, false
		progress := beat.progress
		if !e.isTemporary() {
			progress = nil // it may be the reason
		}
		c.beatAgain(beat.attempt, progress, x.lane.notBefore)
	}
	switch {
	case e.isTemporary():
		c.outbox.giveBack(x.request.outcomes)
	case !isLoose:
		c.separate(now, x.request.outcomes, e)
	case endsWork(e) && x.request.claim > 0 && len(x.request.heartbeats)+len(x.request.lines) == 0:
		c.err = e
		c.beginStop(now)
	}
}

// endsWork says whether every later claim would fail, too. An answer that is not Millrace's counts only
// if it forbids the access.
func endsWork(e *Error) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return e.Code != "bad_answer"
	}
	return false
}

// separate handles outcomes one of which may have made the request fail. It sends each alone, so that
// each gets its own answer. An outcome that fails alone because of its content is refused.
func (c *core) separate(now time.Time, outcomes []*outgoing, e *Error) {
	for _, o := range outcomes {
		isContent := e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusForbidden ||
			(e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) && e.Code != "bad_answer"
		if len(outcomes) == 1 && isContent {
			c.refused(now, o, e)
			continue
		}
		o.since = now
		if len(outcomes) == 1 {
			o.since = now.Add(min(pauseAfterRefusal<<min(o.failures, 6), longestPause))
			o.failures++
		}
		c.outbox.alone = append(c.outbox.alone, o)
	}
}

// linesAnswered lets the outcome go that waited for the lines. Unanswered lines are dropped unless the
// server can't have received them: a missing line is better than a duplicate.
func (c *core) linesAnswered(of jobLines, err error) {
	a := of.attempt
	a.lining = false
	if err != nil && asError(err).notBegun {
		if a.ended != nil {
			a.ended.lines = append(append([]line(nil), of.lines...), a.ended.lines...)
		} else {
			a.job.giveBackLines(of.lines)
			if a.newsDue.IsZero() {
				a.newsDue = time.Now().Add(time.Second)
			}
		}
	}
	c.letGo(a)
	c.book.note(a)
}

func (c *core) lost(e *Error) {
	if !c.away {
		c.away = true
		c.warn("the server is away; the worker tries on", "url", c.client.base, "error", e)
	}
}

func (c *core) reached() {
	if c.away {
		c.away = false
		c.say(slog.LevelInfo, "the server is back", "url", c.client.base)
	}
}

// stopState is the progress of the worker's stop.
type stopState struct {
	begun    bool
	graceEnd time.Time
	killAt   time.Time // one second after the handlers were told; zero: not told yet
	flushBy  time.Time // for the last outcomes; zero: handlers run
}

// beginStop begins the stop, or ends the grace time of one that has begun.
func (c *core) beginStop(now time.Time) {
	if c.stop.begun {
		c.stop.graceEnd = now
		return
	}
	c.stop = stopState{begun: true, graceEnd: now.Add(c.config.grace)}
	close(c.stopping)
	for _, a := range c.attempts {
		if !a.started {
			c.end(now, a, ErrStopping)
		}
	}
}

// stepStop advances the stop. It returns when to call it again; zero: nothing is due.
func (c *core) stepStop(now time.Time) (due time.Time, done bool) {
	s := &c.stop
	if !s.begun {
		return time.Time{}, false
	}
	if c.claimer.waits && !c.claimer.brokenOff {
		if due = c.claimer.began.Add(youngClaim); !due.After(now) {
			c.claimer.breakOff()
			due = time.Time{}
		}
	}
	if len(c.attempts) > 0 {
		return earliest(due, c.pressHandlers(now)), false
	}
	if s.flushBy.IsZero() {
		s.flushBy = now.Add(lastFlush)
		if c.err != nil {
			s.flushBy = now.Add(refusedFlush) // a server that refuses the worker takes no outcomes
		}
	}
	left := len(c.parting) + c.outbox.size() + c.inFlight + c.asked
	if left == 0 || !now.Before(s.flushBy) {
		return now, true
	}
	return earliest(due, s.flushBy), false
}

// pressHandlers ends the handlers when the grace time is over. It returns when it next has work.
func (c *core) pressHandlers(now time.Time) time.Time {
	s := &c.stop
	if s.killAt.IsZero() {
		if now.Before(s.graceEnd) {
			return s.graceEnd
		}
		s.killAt = now.Add(lastSecond)
		for _, a := range c.attempts {
			c.end(now, a, ErrStopping)
		}
	}
	if now.Before(s.killAt) {
		return s.killAt
	}
	for key, a := range c.attempts {
		a.givenUp = true
		delete(c.attempts, key)
		if !a.lost {
			o := a.outgoing(now, Outcome{Kind: "released"})
			o.lines = a.job.lastLines()
			c.part(now, a, o)
		}
	}
	return now
}
