// Goroutines wait for a mutex whose holder sleeps: no thread waits.
package main

import (
	"sync"
	"time"
)

var cache sync.Mutex

//go:noinline
func request() {
	cache.Lock()
	time.Sleep(5 * time.Millisecond)
	cache.Unlock()
}

func main() {
	end := time.Now().Add(1200 * time.Millisecond)
	var all sync.WaitGroup
	for range [4]int{} {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				request()
			}
		}()
	}
	all.Wait()
}
