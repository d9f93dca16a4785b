// Package testserver runs real servers for tests, each on a free loopback port and with its own
// directory.
package testserver

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Server is a server process. Its data outlives Kill and Start.
type Server struct {
	URL     string
	t       testing.TB
	home    string
	args    []string
	process *exec.Cmd
}

var ports atomic.Int64

// FreeAddress returns an address at which nobody listens. As in tests/postgres.py, each process has its
// own range of ports, below those that the system uses for outgoing connections, so that the address
// is still free when a server starts or restarts.
func FreeAddress() string {
	const ofAProcess = 40
	for {
		port := 20_000 + os.Getpid()%300*ofAProcess + int(ports.Add(1))%ofAProcess
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
}

// New starts a server with these arguments, and ends it with the test.
func New(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, home: t.TempDir(), args: args}
	s.URL = "http://" + FreeAddress()
	s.Start()
	t.Cleanup(func() {
		if s.process != nil {
			s.stop(syscall.SIGKILL)
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(s.home, "log"))
			t.Logf("the server's log:\n%s", log)
		}
	})
	return s
}

// binary is MILLRACE_BIN, else the release build of this tree.
func binary() string {
	if path := os.Getenv("MILLRACE_BIN"); path != "" {
		return path
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../../../build/release/millrace")
}

// Start starts the process again.
func (s *Server) Start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.home, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	arguments := append([]string{"serve", "--listen", strings.TrimPrefix(s.URL, "http://")}, s.args...)
	if !strings.Contains(strings.Join(s.args, " "), "--postgres") {
		arguments = append(arguments, "--data", filepath.Join(s.home, "data"))
	}
	s.process = exec.Command(binary(), arguments...)
	s.process.Stdout, s.process.Stderr, s.process.Dir = log, log, s.home
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "MILLRACE_") {
			s.process.Env = append(s.process.Env, setting)
		}
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatalf("the server can't be started (set MILLRACE_BIN): %v", err)
	}
	if err := s.await(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) await() error {
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		answer, err := http.Get(s.URL + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the server at %s is not ready after 60 s", s.URL)
}

// Kill ends the process at once.
func (s *Server) Kill() { s.stop(syscall.SIGKILL) }

func (s *Server) stop(signal syscall.Signal) {
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
	s.process = nil
}
