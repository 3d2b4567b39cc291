// Goroutines wait for a mutex whose holder sleeps: no thread waits. With an argument, a child process runs first;
// the second is the length in milliseconds.
package main

import (
	"os"
	"os/exec"
	"strconv"
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
	if len(os.Args) > 1 {
		exec.Command(os.Args[1]).Run()
	}
	ms := 1200
	if len(os.Args) > 2 {
		ms, _ = strconv.Atoi(os.Args[2])
	}
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
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
