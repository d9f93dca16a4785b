package millrace

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

func TestLogHandlerKeepsLinesWithTheJob(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(LogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	outcome := RunHandler(context.Background(), ClaimedJob{}, func(ctx context.Context) (any, error) {
		logger.DebugContext(ctx, "no")
		logger.InfoContext(ctx, "yes", "a", 1)
		logger.With("b", 2).WithGroup("g").With("c", 3).WarnContext(ctx, "grouped", "d", slog.GroupValue(slog.Int("e", 4)))
		logger.Error("elsewhere")
		return nil, nil
	})
	var kept []string
	for _, line := range outcome.Log {
		kept = append(kept, line.Level+" "+line.Message)
	}
	if got, want := strings.Join(kept, "|"), "info yes a=1|warn grouped b=2 g.c=3 g.d.e=4"; got != want {
		t.Errorf("kept is %s, not %s", got, want)
	}
	if text := out.String(); strings.Contains(text, "yes") || !strings.Contains(text, "grouped b=2 g.c=3 g.d.e=4") || !strings.Contains(text, "elsewhere") {
		t.Errorf("passed on is %s", text)
	}
}
