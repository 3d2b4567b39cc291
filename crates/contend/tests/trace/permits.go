// Permits are messages in a channel, and are kept during a slow call; or one goroutine holds a mutex for long, and eight
// others hold it shortly; or readers keep a lock from the writers, which wait for each other.
package main

import (
	"os"
	"sync"
	"time"
)

var permits = make(chan struct{}, 2)
var table sync.Mutex

//go:noinline
func fetch() { time.Sleep(20 * time.Millisecond) }

//go:noinline
func serve() {
	permits <- struct{}{}
	fetch()
	<-permits
}

func compute(length time.Duration) {
	for begin := time.Now(); time.Since(begin) < length; {
	}
}

//go:noinline
func rebuild() {
	table.Lock()
	compute(8 * time.Millisecond)
	table.Unlock()
	time.Sleep(2 * time.Millisecond)
}

//go:noinline
func look() {
	table.Lock()
	compute(time.Microsecond)
	table.Unlock()
	time.Sleep(300 * time.Microsecond)
}

var pages sync.RWMutex

//go:noinline
func scan() {
	pages.RLock()
	time.Sleep(20 * time.Millisecond)
	pages.RUnlock()
	time.Sleep(time.Millisecond)
}

//go:noinline
func update() {
	pages.Lock()
	pages.Unlock()
	time.Sleep(time.Millisecond)
}

func main() {
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	loop := func(body func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				body()
			}
		}()
	}
	others := serve
	if len(os.Args) > 1 && os.Args[1] == "pages" {
		loop(scan)
		loop(scan)
		others = update
	} else if len(os.Args) > 1 {
		loop(rebuild)
		others = look
	}
	for count := 0; count < 8; count++ {
		loop(others)
	}
	all.Wait()
}
