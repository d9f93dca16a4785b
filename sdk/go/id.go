package millrace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// MakeID returns a new id for a job of this queue: a UUIDv7 whose 12 bits after the version tell the
// server which of its shards holds the queue. An empty name means the queue "default". MakeID never
// returns the same id twice in one process.
func MakeID(queue string) string {
	if queue == "" {
		queue = DefaultQueue
	}
	hash := sha256.Sum256([]byte(queue))
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16)
	id[6] = 0x70 | hash[0]>>4
	id[7] = hash[0]<<4 | hash[1]>>4
	binary.BigEndian.PutUint64(id[8:], uniqueBits()&(1<<62-1)|1<<63)

	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

var idCounter = func() *atomic.Uint64 {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("millrace: the system has no random numbers: " + err.Error())
	}
	counter := new(atomic.Uint64)
	counter.Store(binary.BigEndian.Uint64(seed[:]))
	return counter
}()

// uniqueBits walks through all 62-bit numbers, starting at a random one. The step is odd, so no
// number repeats before all have been returned.
func uniqueBits() uint64 { return idCounter.Add(0x9e3779b97f4a7c15) }
