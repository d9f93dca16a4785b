package millrace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// WorkerOption changes a worker.
type WorkerOption interface{ applyToWorker(*workerConfig) }

type workerOption func(*workerConfig)

func (o workerOption) applyToWorker(w *workerConfig) { o(w) }

type workerConfig struct {
	id          string
	version     string
	queues      []string
	concurrency int
	lease       time.Duration
	pollWait    time.Duration
	grace       time.Duration
	signals     []os.Signal
	untilEmpty  bool
}

// Queues names the queues that the worker serves, in order of preference, at most 100. The default
// is DefaultQueue.
func Queues(names ...string) WorkerOption {
	return workerOption(func(w *workerConfig) { w.queues = names })
}

// Concurrency sets how many handlers run at a time. The worker never holds more jobs than that. The
// default is 10.
func Concurrency(n int) WorkerOption {
	return workerOption(func(w *workerConfig) { w.concurrency = n })
}

// PollWait sets how long a claim waits at the server, at most 60 s. The default is 10 s.
func PollWait(d time.Duration) WorkerOption {
	return workerOption(func(w *workerConfig) { w.pollWait = d })
}

// Grace sets how long handlers may run on after a stop before their contexts end. The default is
// 25 s.
func Grace(d time.Duration) WorkerOption {
	return workerOption(func(w *workerConfig) { w.grace = d })
}

// StopWhenEmpty stops the worker once its queues have no running jobs and no jobs that wait for any
// reason. The token needs the scope "read".
func StopWhenEmpty() WorkerOption {
	return workerOption(func(w *workerConfig) { w.untilEmpty = true })
}

// WorkerID sets the worker's name, at most 128 characters of A-Za-z0-9._:/-. No two workers may have
// the same name. The default consists of host, process id and a random part.
func WorkerID(id string) WorkerOption {
	return workerOption(func(w *workerConfig) { w.id = id })
}

// WorkerVersion sets the version of your program, which the server notes with each failed attempt and
// marks in charts. The default is the environment variable MILLRACE_WORKER_VERSION, else none.
func WorkerVersion(version string) WorkerOption {
	return workerOption(func(w *workerConfig) { w.version = version })
}

// StopOnSignals makes signals stop the worker: the first one begins the stop, a second one ends the
// grace time. Without arguments, the signals are SIGINT and SIGTERM.
func StopOnSignals(signals ...os.Signal) WorkerOption {
	if len(signals) == 0 {
		signals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return workerOption(func(w *workerConfig) { w.signals = signals })
}

// Worker claims jobs, runs a handler for each, extends their leases and reports their outcomes. Create
// one with Client.Worker, attach handlers with Handle, and call Run.
type Worker struct {
	client *Client
	config workerConfig

	mutex    sync.Mutex
	handlers map[string]Handler
	wrappers []Middleware
	core     *core
	stops    int // calls of Stop before Run
}

// Worker returns a worker. The worker does nothing until Run is called.
func (c *Client) Worker(options ...WorkerOption) *Worker {
	w := &Worker{client: c, handlers: map[string]Handler{}}
	w.config = workerConfig{
		queues: []string{DefaultQueue}, concurrency: 10, pollWait: 10 * time.Second, grace: 25 * time.Second,
	}
	for _, option := range options {
		option.applyToWorker(&w.config)
	}
	w.config.version = firstOf(w.config.version, os.Getenv("MILLRACE_WORKER_VERSION"))
	w.config.concurrency = max(w.config.concurrency, 1)
	if w.config.id == "" {
		w.config.id = newWorkerID()
	}
	return w
}

func newWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, cut(host, 64))
	var random [4]byte
	_, _ = rand.Read(random[:]) // without random numbers, the process id alone makes the name unique
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), hex.EncodeToString(random[:]))
}

// ID returns the worker's name.
func (w *Worker) ID() string { return w.config.id }

// Register attaches a handler to a type of job; Handle attaches a typed one. A worker claims only the
// types that it has handlers for, at most 100. Call Register before Run.
func (w *Worker) Register(jobType string, handler Handler) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.handlers[jobType] = handler
}

// Use wraps all handlers; the first middleware is the outermost. Call Use before Run.
func (w *Worker) Use(middleware ...Middleware) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.wrappers = append(w.wrappers, middleware...)
}

// Run works until ctx ends, Stop is called, a signal of StopOnSignals arrives, or the server tells the
// worker to stop. It then claims no more jobs and lets handlers run on for the grace time. After that
// it ends their contexts with ErrStopping, and one second later releases the jobs that still run. It
// reports the last outcomes and returns nil.
//
// While the server is unreachable, Run keeps trying. It returns an error if the server refuses the
// worker for good, for example because of a wrong token, or if it could not report the last outcomes
// within 10 s; those jobs run again. Handlers get the values of ctx, but not its end. Run may be called
// only once.
func (w *Worker) Run(ctx context.Context) error {
	core, err := w.begin(ctx)
	if err != nil {
		return err
	}
	if len(w.config.signals) > 0 {
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, w.config.signals...)
		defer signal.Stop(signals)
		go func() {
			for {
				select {
				case <-signals:
					core.askToStop()
				case <-core.over:
					return
				}
			}
		}()
	}
	defer context.AfterFunc(ctx, core.contextEnded)()
	return core.run()
}

// Stop begins the stop, as the end of Run's context does, without waiting for it. A second call ends
// the grace time.
func (w *Worker) Stop() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.core == nil {
		w.stops++
		return
	}
	w.core.askToStop()
}

func (w *Worker) begin(ctx context.Context) (*core, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.core != nil {
		return nil, errors.New("millrace: the worker has run already")
	}
	if len(w.handlers) == 0 {
		return nil, errors.New("millrace: the worker has no handlers")
	}
	types := make([]string, 0, len(w.handlers))
	handlers := make(map[string]Handler, len(w.handlers))
	for name, handler := range w.handlers {
		types = append(types, name)
		for i := len(w.wrappers) - 1; i >= 0; i-- {
			handler = w.wrappers[i](handler)
		}
		handlers[name] = handler
	}
	sort.Strings(types)
	w.core = newCore(context.WithoutCancel(ctx), w.client, w.config, types, handlers)
	for ; w.stops > 0; w.stops-- {
		w.core.askToStop()
	}
	return w.core, nil
}
