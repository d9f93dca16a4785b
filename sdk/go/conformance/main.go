// Command conformance is the program that the conformance suite drives. It reads commands on standard
// input and writes answers and events to standard output, one JSON object per line.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
	"github.com/millrace/millrace/sdk/go/millracetest"
)

type object = map[string]any

type program struct {
	output  sync.Mutex
	mutex   sync.Mutex
	client  *millrace.Client
	fake    *millracetest.Fake
	workers map[string]*running
}

type running struct {
	worker *millrace.Worker
	ended  chan struct{}
}

func main() {
	p := &program{workers: map[string]*running{}}
	slog.SetDefault(slog.New(millrace.LogHandler(nil)))
	if _, err := p.configure(&command{}); err != nil {
		slog.Error("the environment makes no client", "error", err)
	}

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	input := make(chan struct{})
	go func() {
		defer close(input)
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			line := append([]byte(nil), lines.Bytes()...)
			var c command
			if err := json.Unmarshal(line, &c); err != nil {
				slog.Error("a command can't be read", "error", err, "line", string(line))
				continue
			}
			// configure applies to all later commands, so it is done before the next one is read.
			if c.Do == "configure" {
				p.perform(&c)
			} else {
				go p.perform(&c)
			}
		}
	}()
	select {
	case <-input:
	case <-signals:
	}
	p.stopAll()
	go func() {
		for range signals {
			p.stopAll()
		}
	}()
	for _, r := range p.all() {
		<-r.ended
	}
}

func (p *program) all() map[string]*running {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all := make(map[string]*running, len(p.workers))
	for name, r := range p.workers {
		all[name] = r
	}
	return all
}

func (p *program) stopAll() {
	for _, r := range p.all() {
		r.worker.Stop()
	}
}

func (p *program) write(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		slog.Error("an answer can't be written", "error", err)
		return
	}
	p.output.Lock()
	defer p.output.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

func (p *program) event(name string, members object) {
	members["event"] = name
	p.write(members)
}

func (p *program) perform(c *command) {
	value, err := p.do(context.Background(), c)
	if err != nil {
		p.write(object{"id": c.ID, "error": describe(err)})
		return
	}
	p.write(object{"id": c.ID, "ok": value})
}

var classes = map[string]error{
	"NotFound": millrace.ErrNotFound, "ValidationFailed": millrace.ErrValidationFailed,
	"DuplicateJob": millrace.ErrDuplicateJob, "DuplicateWorkflow": millrace.ErrDuplicateWorkflow, "IdMismatch": millrace.ErrIDMismatch,
	"IdempotencyMismatch": millrace.ErrIdempotencyMismatch,
	"InvalidState":        millrace.ErrInvalidState, "LeaseLost": millrace.ErrLeaseLost,
	"VersionConflict": millrace.ErrVersionConflict, "QueueFull": millrace.ErrQueueFull, "KeyFull": millrace.ErrKeyFull,
	"RateLimited": millrace.ErrRateLimited, "Unauthenticated": millrace.ErrUnauthenticated,
	"Forbidden": millrace.ErrForbidden, "PayloadTooLarge": millrace.ErrPayloadTooLarge,
	"Unavailable": millrace.ErrUnavailable, "Unreachable": millrace.ErrUnreachable,
	"WaitTimeout": millrace.ErrWaitTimeout,
}

func describe(err error) object {
	var e *millrace.Error
	if !errors.As(err, &e) {
		e = &millrace.Error{Code: "program", Message: err.Error()}
	}
	class := "MillraceError"
	for name, kind := range classes {
		if errors.Is(err, kind) {
			class = name
		}
	}
	described := object{
		"class": class, "code": e.Code, "status": e.Status, "message": e.Message, "errors": e.Errors,
		"request_id": e.RequestID, "retry_after_ms": nil,
	}
	if e.RetryAfter > 0 {
		described["retry_after_ms"] = e.RetryAfter.Milliseconds()
	}
	return described
}

func (p *program) configure(c *command) (any, error) {
	options := millrace.Options{
		URL: c.URL, Token: c.Token, Timeout: ms(c.TimeoutMs), QueueFullTimeout: ms(c.QueueFullTimeoutMs),
		Logger: slog.New(&logEvents{program: p}),
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, err
		}
		options.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		options.TLS.RootCAs.AppendCertsFromPEM(pem)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	client, err := millrace.New(options)
	if err != nil {
		return nil, err
	}
	p.client, p.fake = client, nil
	if c.Fake != "" {
		mode := map[string]millracetest.Mode{"inline": millracetest.Inline, "drained": millracetest.Drained}[c.Fake]
		p.fake = millracetest.New(mode)
		p.client = p.fake.Client()
		p.attach(p.fake, c.Types)
	}
	return object{}, nil
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// logEvents reports the lines that the SDK itself logs as events.
type logEvents struct{ program *program }

func (h *logEvents) Enabled(context.Context, slog.Level) bool { return true }
func (h *logEvents) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *logEvents) WithGroup(string) slog.Handler            { return h }
func (h *logEvents) Handle(_ context.Context, r slog.Record) error {
	message := r.Message
	r.Attrs(func(a slog.Attr) bool {
		message += " " + a.String()
		return true
	})
	level := map[slog.Level]string{slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}[r.Level]
	h.program.event("log", object{"level": level, "message": message})
	return nil
}
