package millrace

import "time"

// The times and bounds that all SDKs share: the table in sdk/conformance/README.md.
const (
	firstPause        = 100 * time.Millisecond
	longestPause      = 5 * time.Second
	longestWait       = 60 * time.Second
	commitPatience    = 2 * time.Second
	commitPause       = 100 * time.Millisecond
	outcomeDelay      = 5 * time.Millisecond
	manyOutcomes      = 64
	mostItems         = 1000
	mostMembers       = 10_000
	mostOutcomeBytes  = 4 << 20
	slowLineBytesPerS = 256 << 10
	pauseAfterRefusal = 200 * time.Millisecond
	leastPatience     = 500 * time.Millisecond
	youngClaim        = 500 * time.Millisecond
	lastSecond        = 1 * time.Second
	lastFlush         = 10 * time.Second
	refusedFlush      = 2 * time.Second
	goodbye           = 1 * time.Second
	quietPoll         = 2 * time.Second
)
