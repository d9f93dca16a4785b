package testserver

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const postgres = `import sys, postgres
print(postgres.shared().new_database(), flush=True)
sys.stdin.read()`

// Postgres starts a PostgreSQL server, and returns the URL of an empty database. The server ends with
// the test.
func Postgres(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	tests := filepath.Join(filepath.Dir(file), "../../../../tests")
	program := exec.Command("python3", "-B", "-c", postgres)
	program.Env, program.Stderr = append(os.Environ(), "PYTHONPATH="+tests), os.Stderr
	input, _ := program.StdinPipe()
	output, _ := program.StdoutPipe()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = program.Wait()
	})
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("PostgreSQL does not start: %v", err)
	}
	return strings.TrimSpace(url)
}
