package main

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Tally counts the handlers that have run, and reports the first and the last to bench/sdk/run.
type Tally struct {
	jobs  int64
	count atomic.Int64
	first time.Time // written by the first, read by the last
}

// Ran must be called by each handler.
func (t *Tally) Ran() {
	switch count := t.count.Add(1); count {
	case 1:
		t.first = time.Now()
		fmt.Println("began")
	case t.jobs:
		fmt.Printf("ended {\"jobs\": %d, \"seconds\": %f}\n", count, time.Since(t.first).Seconds())
	}
}

// Arguments are the parameters of every program: its role, the number of jobs, its server's port.
func arguments() (role string, jobs int, port string) {
	jobs, err := strconv.Atoi(os.Args[2])
	check(err)
	return os.Args[1], jobs, os.Args[3]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
