// Four goroutines acquire a mutex, and sleep with it. A line every 100 ms has the iterations and the time that all
// goroutines have waited, in nanoseconds; it ends with its input.
package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var cache sync.Mutex
var iterations, waited atomic.Int64

//go:noinline
func writeLog() {
	time.Sleep(2 * time.Millisecond)
}

//go:noinline
func request() {
	began := time.Now()
	cache.Lock()
	waited.Add(int64(time.Since(began)))
	writeLog()
	cache.Unlock()
}

func main() {
	for range [4]int{} {
		go func() {
			for {
				request()
				iterations.Add(1)
			}
		}()
	}
	go func() {
		for {
			time.Sleep(100 * time.Millisecond)
			fmt.Println(iterations.Load(), waited.Load())
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
