package millrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is returned by every call that the server refused or did not answer. Test for its kind with
// errors.Is and one of the Err values; use errors.As to read its members.
type Error struct {
	// Code is the API's stable name of the error, "unreachable" if no answer came, or "bad_answer"
	// if the answer is not Millrace's (for example, a proxy's login page).
	Code string
	// Status is the HTTP status; 0 if no answer came.
	Status int
	// Message is for people.
	Message string
	// Errors lists the faults of an invalid request, at most 20.
	Errors []Fault
	// RequestID identifies the request in the server's log. It may be empty.
	RequestID string
	// RetryAfter is how long the server asked the client to wait; 0 if it did not ask.
	RetryAfter time.Duration

	cause    error
	notBegun bool // the server can't have begun the request
}

// Fault is one fault of a request.
type Fault struct {
	// Where is a JSON Pointer into the body, or the name of a query parameter or a header.
	Where string `json:"where"`
	// Detail describes the fault.
	Detail string `json:"detail"`
}

// Error returns the message and the faults.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("millrace: ")
	text.WriteString(e.Message)
	for i, fault := range e.Errors {
		text.WriteString([]string{" (", "; "}[min(i, 1)])
		if fault.Where != "" {
			text.WriteString(fault.Where + ": ")
		}
		text.WriteString(fault.Detail)
	}
	if len(e.Errors) > 0 {
		text.WriteString(")")
	}
	return text.String()
}

// Unwrap returns the underlying error of the network or of the caller's context, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is work with ErrNotFound and the other kinds.
func (e *Error) Is(target error) bool {
	kind, ok := target.(*errorKind)
	if !ok {
		return false
	}
	if kind == ErrUnavailable {
		return e.Status == http.StatusServiceUnavailable
	}
	return e.Code == kind.code
}

type errorKind struct{ code, text string }

func (k *errorKind) Error() string { return "millrace: " + k.text }

// The kinds of errors, for errors.Is. [docs/reference/errors.md] says how to handle each one.
//
// [docs/reference/errors.md]: https://github.com/millrace/millrace/blob/main/docs/reference/errors.md
var (
	// ErrNotFound: the job, queue, schedule or workflow does not exist, or the token may not see it.
	ErrNotFound error = &errorKind{"not_found", "not found"}
	// ErrValidationFailed: a member of the request is missing, unknown or out of bounds.
	ErrValidationFailed error = &errorKind{"validation_failed", "the request is not valid"}
	// ErrDuplicateJob: another job holds the unique key, or another queue has a job with this id.
	ErrDuplicateJob error = &errorKind{"duplicate_job", "there is such a job"}
	// ErrDuplicateWorkflow: another workflow holds the unique key.
	ErrDuplicateWorkflow error = &errorKind{"duplicate_workflow", "there is such a workflow"}
	// ErrIDMismatch: a job or workflow with this id exists, and its content differs.
	ErrIDMismatch error = &errorKind{"id_mismatch", "the id belongs to another one"}
	// ErrIdempotencyMismatch: the idempotency key was used with another body.
	ErrIdempotencyMismatch error = &errorKind{"idempotency_mismatch", "the key was used with another body"}
	// ErrInvalidState: the state of the job, queue, schedule or workflow does not allow the call.
	ErrInvalidState error = &errorKind{"invalid_state", "the state does not allow it"}
	// ErrLeaseLost: the server gave the job to another worker, or the job has ended. It is also the
	// cause when a handler's context ends because its lease may have expired.
	ErrLeaseLost error = &errorKind{"lease_lost", "the lease is lost"}
	// ErrVersionConflict: the version is not the one given to IfMatch.
	ErrVersionConflict error = &errorKind{"version_conflict", "the version is another"}
	// ErrQueueFull: the queue already has its maximum number of ready jobs.
	ErrQueueFull error = &errorKind{"queue_full", "the queue is full"}
	// ErrKeyFull: the queue already has its maximum number of ready jobs of the job's FairKey.
	ErrKeyFull error = &errorKind{"key_full", "the queue is full for the fair key"}
	// ErrRateLimited: the client sent too many requests.
	ErrRateLimited error = &errorKind{"rate_limited", "too many requests"}
	// ErrUnauthenticated: the token is missing, unknown or expired.
	ErrUnauthenticated error = &errorKind{"unauthenticated", "the token is missing or unknown"}
	// ErrForbidden: the token lacks the necessary scope.
	ErrForbidden error = &errorKind{"forbidden", "the token does not allow it"}
	// ErrPayloadTooLarge: the body, a payload or a result is over its limit.
	ErrPayloadTooLarge error = &errorKind{"payload_too_large", "too large"}
	// ErrUnavailable: the server answered 503, with any code. Try again later.
	ErrUnavailable error = &errorKind{"unavailable", "the server is not available now"}
	// ErrUnreachable: no answer came. The server may have carried out the request.
	ErrUnreachable error = &errorKind{"unreachable", "no answer from the server"}
	// ErrWaitTimeout: the job or workflow has not ended within the timeout of Client.Wait or
	// Client.WaitWorkflow.
	ErrWaitTimeout error = &errorKind{"wait_timeout", "it has not ended yet"}
)

// problem is an error body of the API.
type problem struct {
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
	Errors    []struct {
		Pointer   *string `json:"pointer"`
		Parameter string  `json:"parameter"`
		Header    string  `json:"header"`
		Detail    string  `json:"detail"`
	} `json:"errors"`
}

func (p *problem) asError(status int) *Error {
	e := &Error{Code: p.Code, Status: status, Message: p.Detail, RequestID: p.RequestID}
	if e.Message == "" {
		e.Message = p.Title
	}
	for _, fault := range p.Errors {
		where := fault.Parameter + fault.Header
		if fault.Pointer != nil {
			where = *fault.Pointer
		}
		e.Errors = append(e.Errors, Fault{Where: where, Detail: fault.Detail})
	}
	return e
}

// refusal reads the error from an answer whose status is not 2xx.
func refusal(status int, header http.Header, body []byte) *Error {
	var p problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		p = problem{Code: "bad_answer", Detail: fmt.Sprintf("the server answered with HTTP status %d", status)}
		if to := header.Get("Location"); to != "" {
			p.Detail += ", to " + to
		}
	}
	e := p.asError(status)
	e.RetryAfter = retryAfter(header.Get("Retry-After"))
	if e.RequestID == "" {
		e.RequestID = header.Get("X-Request-Id")
	}
	e.notBegun = status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	return e
}

// retryAfter reads seconds, or the date that a proxy may send.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// unanswered returns the error of a try that got no answer.
func unanswered(err error) *Error {
	e := &Error{Code: "unreachable", Message: err.Error(), cause: err}
	var op *net.OpError
	e.notBegun = errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
	return e
}

func badAnswer(status int, err error) *Error {
	message := "the answer is not Millrace's: " + err.Error()
	return &Error{Code: "bad_answer", Status: status, Message: message, cause: err}
}

// isTemporary says whether the same request may succeed later.
func (e *Error) isTemporary() bool {
	switch e.Status {
	case 0:
		return e.Code == "unreachable"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isFull says whether the queue, or the share of a key in it, has no room.
func (e *Error) isFull() bool { return e.Code == "queue_full" || e.Code == "key_full" }

// asError converts any error to an *Error.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return unanswered(err)
}
