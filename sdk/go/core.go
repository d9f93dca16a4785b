package millrace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// core is the running worker. One goroutine, in run, owns its state and makes all decisions. The others
// report to its inbox and never wait for it:
//
//	handlers       one goroutine per attempt
//	the claimer    the lane that claims. Without outcomes to send, it lets its claim wait at the
//	               server; with outcomes, it asks for an answer at once
//	the reporter   the lane for heartbeats, lines, and outcomes that come while a claim waits. It
//	               also claims jobs for the slots that these outcomes freed
//
// So at most two requests are under way, whatever the concurrency.
type core struct {
	client    *Client
	config    workerConfig
	handlers  map[string]Handler
	claimPart []byte
	ctx       context.Context // of handlers and requests
	stopping  chan struct{}   // closed when the stop begins
	over      chan struct{}   // closed when run has ended
	wake      chan struct{}

	mutex sync.Mutex
	inbox inbox

	// The members below are used by run only.
	attempts map[leaseKey]*attempt // claimed, and neither ended nor given up
	book     book
	outbox   outbox
	parting  map[*attempt]bool // ended, but lines or progress must be sent before the outcome
	inFlight int               // outcomes in requests under way
	asked    int               // jobs requested by claims under way
	claimer  lane
	reporter lane
	away     bool // the last request failed
	quiet    bool
	nextPing time.Time // of a quiet worker
	stop     stopState
	counting bool  // it asks whether the queues are empty
	err      error // why the worker ended by itself
}

// inbox holds what other goroutines have reported to run.
type inbox struct {
	finished     []finished
	news         []*attempt // with lines or progress to be sent
	answers      []answered
	timeouts     []timeout
	counted      bool // the queues' jobs that wait or run
	empty        bool // there are none
	stops        int
	contextEnded bool
}

type finished struct {
	*attempt
	outcome Outcome
	lines   []line
}

type answered struct {
	lane    *lane
	request *pollRequest
	answer  *pollAnswer
	err     error
}

// lane is one of the two connections.
type lane struct {
	busy      bool
	waits     bool // its claim waits at the server
	brokenOff bool // its request was cancelled and gets no answer
	began     time.Time
	cancel    context.CancelFunc
	notBefore time.Time // when it may be used again after a failure
	pauses    backoff
}

func (l *lane) breakOff() {
	l.brokenOff = true
	l.cancel()
}

// pause stops the use of the lane for a random time of at most `most`, or as long as the server asked.
func (l *lane) pause(now time.Time, e *Error, most time.Duration) {
	l.notBefore = now.Add(max(min(l.pauses.next(), most), e.RetryAfter))
}

func newCore(
	ctx context.Context, client *Client, config workerConfig, types []string, handlers map[string]Handler,
) *core {
	return &core{
		client: client, config: config, handlers: handlers, claimPart: config.claimPart(types), ctx: ctx,
		stopping: make(chan struct{}), over: make(chan struct{}), wake: make(chan struct{}, 1),
		attempts: map[leaseKey]*attempt{}, parting: map[*attempt]bool{},
	}
}

// tell puts something into the inbox.
func (c *core) tell(put func(*inbox)) {
	c.mutex.Lock()
	put(&c.inbox)
	c.mutex.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // run will look anyway
	}
}

// askToStop begins the stop, or ends the grace time.
func (c *core) askToStop() { c.tell(func(in *inbox) { in.stops++ }) }

// contextEnded begins the stop if nothing else has.
func (c *core) contextEnded() { c.tell(func(in *inbox) { in.contextEnded = true }) }

func (c *core) run() error {
	defer close(c.over)
	requests, cancel := context.WithCancel(c.ctx)
	defer cancel()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := time.Now()
		c.readInbox(now)
		wakeAt, done := c.step(requests, now)
		if done {
			break
		}
		if wakeAt.IsZero() {
			wakeAt = now.Add(time.Hour)
		}
		timer.Reset(time.Until(wakeAt)) // a stale tick only causes one more step
		select {
		case <-c.wake:
			runtime.Gosched() // handlers that end at the same time share a request
		case <-timer.C:
		}
	}
	if n := len(c.parting) + c.inFlight + c.outbox.size(); n > 0 && c.err == nil {
		c.err = &Error{
			Code:    "unreachable",
			Message: fmt.Sprintf("the worker could not report its last %d outcomes; the server runs these jobs again", n),
		}
	}
	c.sayGoodbye(requests)
	return c.err
}

func (c *core) readInbox(now time.Time) {
	c.mutex.Lock()
	in := c.inbox
	c.inbox = inbox{}
	c.mutex.Unlock()
	// A process that was paused ends the handlers of lost leases before it reads its inbox.
	c.loseExpired(now)
	for _, f := range in.finished {
		c.finish(now, f)
	}
	for _, a := range in.news {
		c.hasNews(now, a)
	}
	for _, t := range in.timeouts {
		if c.attempts[t.key] == t.attempt {
			t.timesOut = t.at
			c.book.note(t.attempt)
		}
	}
	for _, x := range in.answers {
		c.take(now, x)
	}
	if (in.contextEnded || in.empty) && !c.stop.begun {
		c.beginStop(now)
	}
	c.counting = c.counting && !in.counted
	for ; in.stops > 0; in.stops-- {
		c.beginStop(now)
	}
}

// step does what is due. It returns when to call it again if nothing is reported; zero: never.
func (c *core) step(ctx context.Context, now time.Time) (wakeAt time.Time, done bool) {
	stopDue, done := c.stepStop(now)
	if done {
		return now, true
	}
	c.outbox.promote(now)
	c.tryClaim(ctx, now)
	c.tryReport(ctx, now)
	wakeAt = earliest(c.book.expiry, stopDue)
	if c.reporter.busy && !c.reporter.brokenOff {
		// A hanging request must not cost the leases of jobs claimed later.
		if c.book.overdue.IsZero() || c.book.overdue.After(now) {
			wakeAt = earliest(wakeAt, c.book.overdue)
		} else {
			c.reporter.breakOff()
		}
	}
	if c.mayClaim() {
		wakeAt = earliest(wakeAt, c.claimer.notBefore)
	}
	return earliest(wakeAt, c.reportDue()), false
}

// openSlots returns the number of slots without a job for which no claim is under way.
func (c *core) openSlots() int { return c.config.concurrency - len(c.attempts) - c.asked }

func (c *core) mayClaim() bool {
	return !c.claimer.busy && !c.quiet && !c.stop.begun && c.openSlots() > 0
}

const claimMargin = 10 * time.Second // for the answer to a claim, after its wait

func (c *core) tryClaim(ctx context.Context, now time.Time) {
	if !c.mayClaim() || now.Before(c.claimer.notBefore) {
		return
	}
	request := &pollRequest{outcomes: c.outbox.take(), claim: min(c.openSlots(), mostItems)}
	if len(request.outcomes) > 0 {
		// The answer to the outcomes must be known long before the leases end.
		c.send(ctx, now, &c.claimer, request, c.patience(request))
		return
	}
	request.wait = c.config.pollWait
	if c.config.untilEmpty {
		request.wait = min(request.wait, time.Second)
	}
	c.send(ctx, now, &c.claimer, request, request.wait+min(claimMargin, c.client.timeout))
}

// reportDue returns when the reporter next has something to send; zero: nothing is known to be due.
func (c *core) reportDue() time.Time {
	if c.reporter.busy {
		return time.Time{}
	}
	due := earliest(c.outcomesDue(), c.outbox.laterDue())
	due = earliest(due, c.book.report)
	if c.quiet && !c.stop.begun {
		due = earliest(due, c.nextPing)
	}
	if !due.IsZero() && due.Before(c.reporter.notBefore) {
		return c.reporter.notBefore
	}
	return due
}

// outcomesDue returns when the reporter must send outcomes. During a stop they wait until a waiting
// claim has ended: the server could hand a job released by them to that claim, whose answer nobody
// reads.
func (c *core) outcomesDue() time.Time {
	if c.stop.begun && c.claimer.waits {
		return time.Time{}
	}
	if len(c.attempts) == 0 || c.stop.begun {
		return c.outbox.due(0) // no more outcomes will join them
	}
	return c.outbox.due(outcomeDelay)
}

func (c *core) tryReport(ctx context.Context, now time.Time) {
	if due := c.reportDue(); due.IsZero() || due.After(now) {
		return
	}
	if o := c.outbox.takeAlone(now); o != nil {
		request := &pollRequest{outcomes: []*outgoing{o}}
		c.send(ctx, now, &c.reporter, request, c.patience(request))
		return
	}
	request := &pollRequest{}
	if !c.book.report.IsZero() && !c.book.report.After(now) {
		c.collect(now, request)
	}
	isPing := c.quiet && !c.stop.begun && !c.nextPing.After(now)
	due := c.outcomesDue()
	if isPing || len(request.heartbeats)+len(request.lines) > 0 {
		due = earliest(due, now) // those that wait go with it
	}
	if due.IsZero() || due.After(now) {
		return
	}
	if !c.outcomesDue().IsZero() {
		request.outcomes = c.outbox.take()
	}
	if len(request.outcomes) > 0 && c.claimer.busy && !c.away && !c.quiet && !c.stop.begun {
		request.claim = max(min(c.openSlots(), mostItems), 0)
	}
	c.nextPing = now.Add(quietPoll)
	c.send(ctx, now, &c.reporter, request, c.patience(request))
}

// patience returns how long a request may go unanswered: a hanging connection must cost no lease.
func (c *core) patience(request *pollRequest) time.Duration {
	shortest := min(c.client.timeout, c.shortestThird())
	bytes := 0
	for _, o := range request.outcomes {
		shortest = min(shortest, o.leaseThird)
		bytes += o.size()
	}
	return max(shortest, leastPatience) + time.Duration(bytes)*time.Second/slowLineBytesPerS
}

// shortestThird returns a third of the shortest lease. Heartbeats must not be later than that.
func (c *core) shortestThird() time.Duration {
	shortest := 24 * time.Hour // the longest lease
	for _, a := range c.attempts {
		shortest = min(shortest, a.third)
	}
	return shortest
}

func (c *core) send(ctx context.Context, now time.Time, l *lane, request *pollRequest, patience time.Duration) {
	body, err := request.append(make([]byte, 0, 512+256*len(request.outcomes)), c.claimPart)
	ctx, l.cancel = context.WithCancel(ctx)
	l.busy, l.waits, l.brokenOff, l.began = true, request.wait > 0, false, now
	c.asked += request.claim
	c.inFlight += len(request.outcomes)
	request.sent = now
	go func(cancel context.CancelFunc) {
		defer cancel()
		x := answered{lane: l, request: request, err: err}
		if err == nil {
			x.answer, x.err = c.client.poll(ctx, c.config.id, body, patience)
		}
		c.tell(func(in *inbox) { in.answers = append(in.answers, x) })
	}(l.cancel)
}

// countJobs stops the worker if its queues have no jobs that wait or run.
func (c *core) countJobs() {
	if c.counting || c.stop.begun || len(c.attempts) > 0 {
		return
	}
	c.counting = true
	go func() {
		var left int64
		for _, name := range c.config.queues {
			queue, err := c.client.Queue(c.ctx, name)
			switch {
			case errors.Is(err, ErrNotFound): // the queue was never used
			case err != nil:
				left++
				c.warn("the worker can't count the jobs of a queue", "queue", name, "error", err)
			default:
				n := queue.Counts
				left += n.Scheduled + n.Ready + n.Running + n.Retrying + n.Blocked
			}
		}
		c.tell(func(in *inbox) { in.empty, in.counted = left == 0, true })
	}()
}

// sayGoodbye removes the worker from the server's list. Nothing depends on it, so it tries once.
func (c *core) sayGoodbye(ctx context.Context) {
	if c.away || c.err != nil {
		return
	}
	request := pollRequest{goodbye: true}
	if body, err := request.append(nil, nil); err == nil {
		_, _ = c.client.poll(ctx, c.config.id, body, goodbye)
	}
}

func (c *core) warn(message string, args ...any) { c.say(slog.LevelWarn, message, args...) }

// say logs a line. A logger that panics must not end the worker.
func (c *core) say(level slog.Level, message string, args ...any) {
	defer func() { _ = recover() }()
	c.client.log().Log(c.ctx, level, "millrace: "+message, args...)
}
