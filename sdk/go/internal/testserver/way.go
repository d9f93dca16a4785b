package testserver

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Harm is the fault that a Way injects into a request.
type Harm int

// The harms.
const (
	None        Harm = iota
	LoseRequest      // the server never sees it, and the connection breaks
	LoseAnswer       // the server carries it out, and the connection breaks
	Refuse           // 503 with Retry-After: 1, and the server never sees it
	RefuseLong       // the same with Retry-After: 60
	Hang             // no answer, as long as the client waits
)

// Way is a proxy in front of a server that injects faults into requests as a test asks.
type Way struct {
	URL string

	mutex    sync.Mutex
	harm     func(r *http.Request, body []byte) Harm
	requests []Seen
}

// Seen is a request that the Way received.
type Seen struct {
	Method, Path, Body string
	Header             http.Header
	Remote             string // the client's end of the connection
}

// NewWay opens a Way to the server at the URL.
func NewWay(t testing.TB, server string) *Way {
	w := &Way{}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	listening := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		harm := w.see(r, body)
		switch harm {
		case LoseRequest:
			panic(http.ErrAbortHandler)
		case Hang:
			<-r.Context().Done()
			return
		case Refuse, RefuseLong:
			out.Header().Set("Retry-After", map[Harm]string{Refuse: "1", RefuseLong: "60"}[harm])
			out.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(out, `{"code": "draining", "title": "draining", "detail": "the test refuses", "status": 503}`)
			return
		}
		on, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		on.Header = r.Header.Clone()
		answer, err := transport.RoundTrip(on)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if harm == LoseAnswer || err != nil {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header {
			out.Header()[name] = values
		}
		out.Header().Set("Content-Length", strconv.Itoa(len(data)))
		out.WriteHeader(answer.StatusCode)
		_, _ = out.Write(data)
	}))
	w.URL = listening.URL
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
		transport.CloseIdleConnections()
	})
	return w
}

func (w *Way) see(r *http.Request, body []byte) Harm {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.requests = append(w.requests, Seen{r.Method, r.URL.Path, string(body), r.Header.Clone(), r.RemoteAddr})
	if w.harm == nil {
		return None
	}
	return w.harm(r, body)
}

// Harm sets the function that chooses the harm of each request. It is called for one request at a time.
func (w *Way) Harm(harm func(r *http.Request, body []byte) Harm) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.harm = harm
}

// First harms the first n requests that have this method and whose path ends so.
func (w *Way) First(n int, harm Harm, method, end string) {
	w.Harm(func(r *http.Request, _ []byte) Harm {
		if n > 0 && r.Method == method && len(r.URL.Path) >= len(end) && r.URL.Path[len(r.URL.Path)-len(end):] == end {
			n--
			return harm
		}
		return None
	})
}

// Requests returns the requests received so far.
func (w *Way) Requests() []Seen {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]Seen(nil), w.requests...)
}
