package millrace

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// DefaultURL is the address of the server if neither Options.URL nor MILLRACE_URL names one.
	DefaultURL = "http://127.0.0.1:7600"
	// DefaultQueue is the queue of jobs that name none.
	DefaultQueue = "default"
	// DefaultTimeout bounds a call if Options.Timeout is 0.
	DefaultTimeout = 30 * time.Second

	defaultQueueFullTimeout = 2 * time.Second
)

// Options are the settings of a Client. The zero value is ready to use.
type Options struct {
	// URL is the server's address, such as https://jobs.example.org. If empty, the environment variable
	// MILLRACE_URL is used, else DefaultURL.
	URL string
	// Token is the bearer token. If empty, the environment variable MILLRACE_TOKEN is used, else none.
	// Blanks and line ends around it are taken off.
	Token string
	// Timeout bounds a whole call: all its tries and the pauses between them. 0 means DefaultTimeout.
	// The context of a call may end it sooner.
	Timeout time.Duration
	// QueueFullTimeout is how long a call is tried again while its queue is full, within Timeout: short,
	// since a web request may wait for it. 0 means 2 s; if it is negative, there is no further try.
	QueueFullTimeout time.Duration
	// TLS holds the settings for https. Nil means the platform's certificate store. Proxies are taken
	// from HTTPS_PROXY and NO_PROXY in the environment.
	TLS *tls.Config
	// Transport sends the requests. Nil means one with the TLS settings above; another one may wrap it, or
	// take the server's place, as millracetest's does.
	Transport http.RoundTripper
	// Trace returns the W3C trace context to send with a submission, or empty strings. If nil, a
	// submission inside a handler gets the trace context of the handler's job, and any other none.
	Trace func(ctx context.Context) (traceparent, tracestate string)
	// Logger gets the lines that the SDK itself logs. Nil means slog.Default().
	Logger *slog.Logger
}

// Client talks to one server. It keeps its connections open, so create one Client and share it. It is
// safe for concurrent use by multiple goroutines.
//
// A call is retried after a lost connection and after the statuses 429, 502, 503 and 504, unless a
// retry could do its work twice. Every error that a method returns is an *Error, even one caused by
// the context: errors.Is finds context.Canceled and context.DeadlineExceeded in it.
type Client struct {
	base          string
	authorization *string // behind a pointer, so that no %+v shows it; nil: none
	timeout       time.Duration
	queueFull     time.Duration
	trace         func(ctx context.Context) (string, string)
	logger        *slog.Logger
	http          *http.Client
}

// New returns a client. It does not connect; the first call reports a wrong address. It returns an
// error if the token can't be one.
func New(options Options) (*Client, error) {
	authorization, err := authorizationOf(firstOf(options.Token, os.Getenv("MILLRACE_TOKEN")))
	if err != nil {
		return nil, err
	}
	transport := options.Transport
	if transport == nil {
		transport = transportWith(options.TLS)
	}
	c := &Client{
		base:          strings.TrimRight(firstOf(options.URL, os.Getenv("MILLRACE_URL"), DefaultURL), "/"),
		authorization: authorization,
		timeout:       options.Timeout,
		queueFull:     options.QueueFullTimeout,
		trace:         options.Trace,
		logger:        options.Logger,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	if c.queueFull == 0 {
		c.queueFull = defaultQueueFullTimeout
	}
	return c, nil
}

func transportWith(settings *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     settings,
		MaxIdleConnsPerHost: 64,
		// Shorter than the server's minute, so that no request uses a connection that the server closes.
		IdleConnTimeout:    45 * time.Second,
		DisableCompression: true,
	}
}

// authorizationOf returns the header for a token, which may have blanks around it, as files and secrets
// have them. The error does not show it.
func authorizationOf(token string) (*string, error) {
	token = strings.TrimSpace(token)
	for i := 0; i < len(token); i++ {
		if token[i] <= ' ' || token[i] > '~' {
			return nil, fmt.Errorf("millrace: byte %d of the token is none that a token has", i+1)
		}
	}
	if token == "" {
		return nil, nil
	}
	return Ptr("Bearer " + token), nil
}

// Close closes idle connections. The client may be used again afterwards.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) log() *slog.Logger {
	if c.logger != nil {
		return c.logger
	}
	return slog.Default()
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// call is one request of the API, and the tries that it may have.
type call struct {
	method, path string
	query        url.Values
	header       [][2]string
	body         []byte
	// once: the server must not do the call twice, so it is retried only if it can't have begun.
	once bool
	// patience is how long the server may wait before it answers.
	patience time.Duration
}

// do sends a call, with retries, and decodes the answer into out unless that is nil. It returns the
// status.
func (c *Client) do(ctx context.Context, request call, out any) (int, error) {
	status, _, err := c.try(ctx, request, out)
	return status, err
}

// try does what do does, and also returns the number of tries.
func (c *Client) try(ctx context.Context, request call, out any) (status, tries int, err error) {
	status, body, tries, err := c.tryRaw(ctx, request)
	if err == nil && out != nil && status != http.StatusNoContent {
		if err := json.Unmarshal(body, out); err != nil {
			return status, tries, badAnswer(status, err)
		}
	}
	return status, tries, err
}

var errNotJSON = errors.New("it is not JSON")

func (c *Client) tryRaw(ctx context.Context, request call) (status int, body []byte, tries int, err error) {
	begin := time.Now()
	deadline := begin.Add(c.timeout + request.patience)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if earlier, ok := ctx.Deadline(); ok {
		deadline = earlier
	}
	var pauses backoff
	for tries = 1; ; tries++ {
		status, body, err := c.send(ctx, request)
		if err == nil {
			return status, body, tries, nil
		}
		failure := asError(err)
		if tries > 1 && request.method == http.MethodDelete && failure.Code == "not_found" {
			return http.StatusNoContent, nil, tries, nil // an earlier try deleted it, and its answer was lost
		}
		if !failure.isTemporary() || isCertificateFault(err) || request.once && !failure.notBegun {
			return failure.Status, nil, tries, failure
		}
		if full := begin.Add(c.queueFull); failure.isFull() && full.Before(deadline) {
			deadline = full
		}
		pause := max(pauses.next(), failure.RetryAfter)
		if time.Now().Add(pause).After(deadline) || !sleep(ctx, pause) {
			return failure.Status, nil, tries, failure
		}
	}
}

// sleep returns false if the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isCertificateFault says whether the server's certificate was refused, which no retry will change.
func isCertificateFault(err error) bool {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &invalid) || errors.As(err, &host) || errors.As(err, &authority)
}

// send makes one try and returns the body of a 2xx answer.
func (c *Client) send(ctx context.Context, request call) (int, []byte, error) {
	answer, err := c.open(ctx, request)
	if err != nil {
		return 0, nil, unanswered(plain(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, unanswered(err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return answer.StatusCode, nil, refusal(answer.StatusCode, answer.Header, body)
	}
	return answer.StatusCode, body, nil
}

// open sends a request and returns when the head of the answer has arrived.
func (c *Client) open(ctx context.Context, request call) (*http.Response, error) {
	target := c.base + request.path
	if len(request.query) > 0 {
		target += "?" + request.query.Encode()
	}
	var body io.Reader
	if request.body != nil {
		body = bytes.NewReader(request.body)
	}
	r, err := http.NewRequestWithContext(ctx, request.method, target, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "millrace-go/"+Version)
	if c.authorization != nil {
		r.Header.Set("Authorization", *c.authorization)
	}
	if request.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, field := range request.header {
		r.Header.Set(field[0], field[1])
	}
	return c.http.Do(r)
}

// plain removes the wrapper that repeats the method and the URL.
func plain(err error) error {
	var wrapper *url.Error
	if errors.As(err, &wrapper) {
		return wrapper.Err
	}
	return err
}

// CallOption changes a single call.
type CallOption func(*call)

// IfMatch makes a call fail with ErrVersionConflict unless the job, queue, schedule or workflow has this
// version.
func IfMatch(version int64) CallOption {
	return func(r *call) { r.header = append(r.header, [2]string{"If-Match", formatInt(version)}) }
}

// Create makes PatchQueue and PauseQueue create a queue that does not exist.
func Create() CallOption { return queryFlag("create") }

// Force makes DeleteQueue delete the queue's jobs, too.
func Force() CallOption { return queryFlag("force") }

func queryFlag(name string) CallOption {
	return func(r *call) {
		if r.query == nil {
			r.query = url.Values{}
		}
		r.query.Set(name, "true")
	}
}

// fetch sends a call and returns its decoded answer.
func fetch[T any](ctx context.Context, c *Client, request call, options ...CallOption) (*T, error) {
	for _, option := range options {
		option(&request)
	}
	out := new(T)
	if _, err := c.do(ctx, request, out); err != nil {
		return nil, err
	}
	return out, nil
}

func get(path string) call { return call{method: http.MethodGet, path: path} }

func post(path string, body []byte) call {
	return call{method: http.MethodPost, path: path, body: body}
}

// each returns an iterator over the items of all pages.
func each[T any](page func(cursor string) (*Page[T], error), cursor string) func(yield func(*T, error) bool) {
	return func(yield func(*T, error) bool) {
		for at := cursor; ; {
			page, err := page(at)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
			if at = page.NextCursor; at == "" {
				return
			}
		}
	}
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// NextCursor leads to the next page; empty on the last one.
	NextCursor string `json:"next_cursor"`
}

// MarshalJSON writes the API's form, in which the last page's cursor is null.
func (p Page[T]) MarshalJSON() ([]byte, error) {
	items := p.Items
	if items == nil {
		items = []T{}
	}
	return json.Marshal(struct {
		Items      []T      `json:"items"`
		NextCursor wireText `json:"next_cursor"`
	}{items, wireText(p.NextCursor)})
}
