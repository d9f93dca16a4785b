package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Row is a row of a query's answer, as of pgx and of database/sql.
type Row interface{ Scan(values ...any) error }

// Tx is a transaction of the application's own, in the database in which the server keeps its jobs. Pgx
// and SQL make one.
type Tx interface {
	row(ctx context.Context, query string, values []any) Row
}

type txFunc func(ctx context.Context, query string, values []any) Row

func (f txFunc) row(ctx context.Context, query string, values []any) Row {
	return f(ctx, query, values)
}

// Pgx returns a transaction of pgx: a pgx.Tx, or anything that queries like it.
func Pgx[R Row](tx interface {
	QueryRow(ctx context.Context, query string, values ...any) R
}) Tx {
	return txFunc(func(ctx context.Context, query string, values []any) Row {
		return tx.QueryRow(ctx, query, values...)
	})
}

// SQL returns a transaction of database/sql: an *sql.Tx, or anything that queries like it.
func SQL[R Row](tx interface {
	QueryRowContext(ctx context.Context, query string, values ...any) R
}) Tx {
	return txFunc(func(ctx context.Context, query string, values []any) Row {
		return tx.QueryRowContext(ctx, query, values...)
	})
}

// SubmitTx submits a job in a transaction, and returns the job's id: the job comes if and only if the
// transaction commits. The transaction's role may execute millrace.enqueue.
func (c *Client) SubmitTx(ctx context.Context, tx Tx, job NewJob) (string, error) {
	if job.ID == "" && job.IdempotencyKey == "" {
		job.ID = MakeID(job.Queue)
	}
	if job.Traceparent == "" {
		job.Traceparent, job.Tracestate = c.traceOf(ctx)
	}
	body, err := job.append(nil)
	if err != nil {
		return "", notJSON(err, "/payload")
	}
	query, values, err := enqueueStatement(body)
	if err != nil {
		return "", err
	}
	var id string
	if err := tx.row(ctx, query, values).Scan(&id); err != nil {
		return "", fmt.Errorf("millrace: the job is not submitted: %w", err)
	}
	return id, nil
}

// How the members of a submission become arguments of millrace.enqueue. Every value is sent as text, so
// that every driver can send it.
const (
	sqlText  = "$n"
	sqlJSON  = "$n::jsonb"
	sqlInt   = "$n::integer"
	sqlTime  = "$n::timestamptz"
	sqlMs    = "$n::float8 * interval '1 millisecond'"
	sqlTexts = "ARRAY(SELECT jsonb_array_elements_text($n::jsonb))"
)

var enqueueArguments = map[string][2]string{
	"type": {"type", sqlText}, "payload": {"payload", sqlJSON}, "queue": {"queue", sqlText},
	"id": {"id", "$n::uuid"}, "priority": {"priority", sqlInt}, "run_at": {"run_at", sqlTime},
	"delay_ms": {"delay", sqlMs}, "expires_at": {"expires_at", sqlTime}, "expires_in_ms": {"expires_in", sqlMs},
	"max_attempts": {"max_attempts", sqlInt}, "retry": {"retry", sqlJSON}, "lease_ms": {"lease", sqlMs},
	"timeout_ms": {"timeout", sqlMs}, "unique.key": {"unique_key", sqlText}, "unique.for_ms": {"unique_for", sqlMs},
	"unique.on_conflict": {"on_conflict", sqlText}, "unique.max_wait_ms": {"max_wait", sqlMs},
	"tags": {"tags", sqlTexts}, "meta": {"meta", sqlJSON}, "traceparent": {"traceparent", sqlText},
	"tracestate": {"tracestate", sqlText}, "idempotency_key": {"idempotency_key", sqlText},
	"limits": {"limits", sqlJSON}, "order_key": {"order_key", sqlText},
	"order_on_failure": {"order_on_failure", sqlText}, "fair_key": {"fair_key", sqlText},
}

// statement is a call of millrace.enqueue in the making.
type statement struct {
	given  []string
	values []any
}

// enqueueStatement returns the call of millrace.enqueue for a submission in the API's form.
func enqueueStatement(body []byte) (query string, values []any, err error) {
	var s statement
	err = s.addAll("", body)
	return "SELECT millrace.enqueue(" + strings.Join(s.given, ", ") + ")::text", s.values, err
}

// addAll adds the members of an object, by name: equal statements are prepared once.
func (s *statement) addAll(prefix string, object []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return err
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := s.add(prefix+name, members[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *statement) add(name string, value json.RawMessage) error {
	if name == "unique" {
		return s.addAll("unique.", value)
	}
	argument, ok := enqueueArguments[name]
	if !ok {
		return fmt.Errorf("millrace: millrace.enqueue has no argument for %q", name)
	}
	text := string(value)
	if value[0] == '"' && argument[1] != sqlJSON {
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
	}
	s.values = append(s.values, text)
	s.given = append(s.given, argument[0]+" => "+strings.Replace(argument[1], "$n", "$"+strconv.Itoa(len(s.values)), 1))
	return nil
}
