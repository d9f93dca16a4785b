package millrace

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// leaseKey names one lease. After a lost lease, a worker may hold two leases of the same job.
type leaseKey struct {
	id    string
	token int64
}

// outgoing is an outcome on its way to the server.
type outgoing struct {
	leaseKey
	outcome      Outcome
	lines        []line
	since        time.Time // when it began to wait; if delayed or alone: when it may be sent
	leaseThird   time.Duration
	isSubstitute bool // replaces the handler's own, which the server refused
	failures     int  // failed requests that carried nothing else
}

// size returns about the number of bytes that the outcome adds to a request.
func (o *outgoing) size() int {
	size := 256 + len(o.outcome.Result)
	if e := o.outcome.Error; e != nil {
		size += len(e.Message) + len(e.Stack)
	}
	for i := range o.lines {
		size += len(o.lines[i].message) + 64
	}
	for i := range o.outcome.Enqueue {
		size += sizeOf(&o.outcome.Enqueue[i])
	}
	for i := range o.outcome.Grow.Members {
		size += sizeOf(&o.outcome.Grow.Members[i].Job)
	}
	return size
}

func sizeOf(job *NewJob) int {
	payload, _ := job.Payload.(json.RawMessage)
	return 1024 + len(payload)
}

type heartbeat struct {
	*attempt
	progress *Progress
}

type jobLines struct {
	*attempt
	lines []line
}

// pollRequest is one round trip of a worker.
type pollRequest struct {
	outcomes   []*outgoing
	heartbeats []heartbeat
	lines      []jobLines
	claim      int // jobs to claim; 0: no claim
	wait       time.Duration
	goodbye    bool

	sent time.Time
}

type pollAnswer struct {
	Acks       []itemResult `json:"acks"`
	Heartbeats []itemResult `json:"heartbeats"`
	Jobs       []ClaimedJob `json:"jobs"`
	Commands   []command    `json:"commands"`
}

type itemResult struct {
	Status          int      `json:"status"`
	CancelRequested bool     `json:"cancel_requested"`
	Error           *problem `json:"error"`
}

func (r *itemResult) refusal() *Error {
	if r.Error == nil {
		return nil
	}
	return r.Error.asError(r.Status)
}

type command struct {
	Type  string `json:"type"`
	JobID string `json:"job_id"`
	Token int64  `json:"token"`
}

// claimPart returns the part that all claims of a worker have in common.
func (w *workerConfig) claimPart(types []string) []byte {
	m := openObject(nil)
	m.texts("queues", w.queues)
	m.texts("types", types)
	m.maybeMs("lease_ms", w.lease)
	m.key("worker")
	info := openObject(m.b)
	if host, err := os.Hostname(); err == nil {
		info.text("host", cut(host, 128))
	}
	info.number("pid", int64(os.Getpid()))
	info.text("sdk", "go")
	info.maybeText("version", w.version)
	m.b = info.close()
	return m.b // open, for limit and wait
}

func (r *pollRequest) append(b, claimPart []byte) ([]byte, error) {
	m := openObject(b)
	if err := r.appendOutcomes(&m); err != nil {
		return nil, err
	}
	if len(r.heartbeats) > 0 {
		m.key("heartbeats")
		m.b = append(m.b, '[')
		for i, beat := range r.heartbeats {
			if i > 0 {
				m.b = append(m.b, ',')
			}
			item := openObject(m.b)
			beat.key.appendTo(&item)
			if beat.progress != nil {
				item.key("progress")
				item.b = beat.progress.append(item.b)
			}
			m.b = item.close()
		}
		m.b = append(m.b, ']')
	}
	if len(r.lines) > 0 {
		m.key("logs")
		m.b = append(m.b, '[')
		first := true
		for _, of := range r.lines {
			for _, l := range of.lines {
				if !first {
					m.b = append(m.b, ',')
				}
				first = false
				item := openObject(m.b)
				of.key.appendTo(&item)
				l.appendTo(&item)
				m.b = item.close()
			}
		}
		m.b = append(m.b, ']')
	}
	if r.claim > 0 {
		m.raw("claim", claimPart)
		m.b = append(m.b, `,"limit":`...)
		m.b = strconv.AppendInt(m.b, int64(r.claim), 10)
		m.b = append(m.b, `,"wait_ms":`...)
		m.b = strconv.AppendInt(m.b, milliseconds(r.wait), 10)
		m.b = append(m.b, '}')
	}
	m.maybeBoolean("goodbye", r.goodbye)
	return m.close(), nil
}

func (k leaseKey) appendTo(m *members) {
	m.text("id", k.id)
	m.number("token", k.token)
}

func (l *line) appendTo(m *members) {
	m.maybeTime("at", l.at)
	m.text("level", l.level)
	m.text("message", l.message)
}

func (p *Progress) append(b []byte) []byte {
	m := openObject(b)
	if p.Percent != nil {
		m.key("percent")
		m.b = strconv.AppendFloat(m.b, *p.Percent, 'f', -1, 64)
	}
	if p.Message != nil {
		m.text("message", *p.Message)
	}
	if p.Checkpoint != nil {
		m.raw("checkpoint", p.Checkpoint)
	}
	return m.close()
}

func (r *pollRequest) appendOutcomes(m *members) error {
	if len(r.outcomes) == 0 {
		return nil
	}
	m.key("acks")
	m.b = append(m.b, '[')
	for i, o := range r.outcomes {
		if i > 0 {
			m.b = append(m.b, ',')
		}
		item := openObject(m.b)
		o.leaseKey.appendTo(&item)
		if err := o.appendTo(&item); err != nil {
			return err
		}
		m.b = item.close()
	}
	m.b = append(m.b, ']')
	return nil
}

func (o *outgoing) appendTo(m *members) error {
	m.text("outcome", o.outcome.Kind)
	if o.outcome.Result != nil {
		m.raw("result", o.outcome.Result)
	}
	if e := o.outcome.Error; e != nil {
		m.key("error")
		failure := openObject(m.b)
		failure.text("type", e.Type)
		failure.text("message", e.Message)
		failure.maybeText("stack", e.Stack)
		if !e.Retryable {
			failure.boolean("retryable", false)
		}
		m.b = failure.close()
	}
	if o.outcome.Kind == "snoozed" || o.outcome.HasDelay {
		m.number("delay_ms", max(milliseconds(o.outcome.Delay), 0))
	}
	if len(o.lines) > 0 {
		m.key("logs")
		m.b = append(m.b, '[')
		for i := range o.lines {
			if i > 0 {
				m.b = append(m.b, ',')
			}
			item := openObject(m.b)
			o.lines[i].appendTo(&item)
			m.b = item.close()
		}
		m.b = append(m.b, ']')
	}
	if len(o.outcome.SlowDown) > 0 {
		m.key("slow_down")
		m.b = append(m.b, '[')
		for i, wish := range o.outcome.SlowDown {
			if i > 0 {
				m.b = append(m.b, ',')
			}
			item := openObject(m.b)
			item.text("limit", wish.Limit)
			item.maybeText("key", wish.Key)
			item.number("for_ms", wish.For.Milliseconds())
			m.b = item.close()
		}
		m.b = append(m.b, ']')
	}
	if len(o.outcome.Enqueue) > 0 {
		if err := appendAll(m, "enqueue", o.outcome.Enqueue); err != nil {
			return err
		}
	}
	if grow := &o.outcome.Grow; len(grow.Members)+len(grow.Skip) > 0 {
		m.key("grow")
		var err error
		m.b, err = grow.append(m.b)
		return err
	}
	return nil
}

func (g *Growth) append(b []byte) ([]byte, error) {
	m := openObject(b)
	if len(g.Members) > 0 {
		if err := appendAll(&m, "members", g.Members); err != nil {
			return nil, err
		}
	}
	if len(g.Skip) > 0 {
		m.texts("skip", g.Skip)
	}
	return m.close(), nil
}

// poll makes one try of a round trip. The head of the answer must arrive within `patience`; it shows
// that the server has the outcomes. The body, which may be large and slow, gets the client's timeout in
// addition.
func (c *Client) poll(
	ctx context.Context, worker string, body []byte, patience time.Duration,
) (*pollAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ranOut atomic.Bool
	clock := patientClock(patience, func() { ranOut.Store(true); cancel() })
	defer func() { clock.Stop() }()
	response, err := c.open(ctx, post("/v1/workers/"+url.PathEscape(worker)+"/poll", body))
	if err != nil {
		if ranOut.Load() {
			err = context.DeadlineExceeded
		}
		return nil, unanswered(plain(err))
	}
	defer response.Body.Close()
	clock.Stop()
	clock = patientClock(c.timeout, cancel)
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, unanswered(err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response.StatusCode, response.Header, data)
	}
	answer := new(pollAnswer)
	if err := json.Unmarshal(data, answer); err != nil {
		return nil, badAnswer(response.StatusCode, err)
	}
	return answer, nil
}

// patientClock calls f after `patience`. If the process was paused meanwhile, the answer may have
// arrived without being read yet, so it waits a little longer.
func patientClock(patience time.Duration, f func()) *time.Timer {
	const late, more = 100 * time.Millisecond, 300 * time.Millisecond
	due := time.Now().Add(patience)
	return time.AfterFunc(patience, func() {
		if time.Since(due) > late {
			time.Sleep(more)
		}
		f()
	})
}
