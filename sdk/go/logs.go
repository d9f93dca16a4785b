package millrace

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
)

// LogHandler returns a slog handler that adds each line logged with the context of a job's handler to
// that job's log, and passes all lines on to next:
//
//	slog.SetDefault(slog.New(millrace.LogHandler(nil)))
//	...
//	slog.InfoContext(ctx, "sent", "to", m.To) // in a handler
//
// If next is nil, lines are written to standard error as text. Do not pass slog.Default().Handler():
// package slog would deadlock.
func LogHandler(next slog.Handler) slog.Handler {
	if next == nil {
		next = slog.NewTextHandler(os.Stderr, nil)
	}
	return &logHandler{next: next}
}

type logHandler struct {
	next   slog.Handler
	prefix string      // the open groups, each followed by a dot
	attrs  []slog.Attr // their keys already have their prefix
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return JobFrom(ctx) != nil && level >= slog.LevelInfo || h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	if job := JobFrom(ctx); job != nil {
		job.addRecord(record, h.prefix, h.attrs)
	}
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := append([]slog.Attr(nil), h.attrs...)
	for _, attr := range attrs {
		attr.Key = h.prefix + attr.Key
		all = append(all, attr)
	}
	return &logHandler{next: h.next.WithAttrs(attrs), prefix: h.prefix, attrs: all}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{next: h.next.WithGroup(name), prefix: h.prefix + name + ".", attrs: h.attrs}
}

// addRecord writes the line as "message key=value".
func (c *JobContext) addRecord(record slog.Record, prefix string, attrs []slog.Attr) {
	var text strings.Builder
	text.WriteString(record.Message)
	for _, attr := range attrs {
		writeAttr(&text, "", attr)
	}
	record.Attrs(func(attr slog.Attr) bool {
		writeAttr(&text, prefix, attr)
		return true
	})
	c.addLine(record.Time, record.Level, text.String())
}

func writeAttr(text *strings.Builder, prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attr.Key != "" {
			prefix += attr.Key + "."
		}
		for _, member := range value.Group() {
			writeAttr(text, prefix, member)
		}
		return
	}
	if attr.Equal(slog.Attr{}) {
		return
	}
	shown := value.String()
	if shown == "" || strings.ContainsAny(shown, " \t\r\n\"=") {
		shown = strconv.Quote(shown)
	}
	text.WriteString(" " + prefix + attr.Key + "=" + shown)
}
