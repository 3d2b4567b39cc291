// Goroutines that pass a token around a ring of channels.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

var wholeNumber = regexp.MustCompile(`^[0-9]{1,15}$`)

func arguments() (threads, hops int64) {
	if len(os.Args) == 3 && wholeNumber.MatchString(os.Args[1]) && wholeNumber.MatchString(os.Args[2]) {
		threads, _ = strconv.ParseInt(os.Args[1], 10, 64)
		hops, _ = strconv.ParseInt(os.Args[2], 10, 64)
	}
	if threads < 1 {
		fmt.Fprintln(os.Stderr, "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits")
		os.Exit(2)
	}
	return threads, hops
}

func passOn(number int64, own <-chan int64, next chan<- int64, last chan<- int64) {
	for token := range own {
		if token == 0 {
			last <- number
			return
		}
		next <- token - 1
	}
}

func main() {
	threads, hops := arguments()

	// Unbuffered: sender and receiver meet. A lone thread would wait for ever to meet itself, so it has one place.
	capacity := 0
	if threads == 1 {
		capacity = 1
	}
	first := make(chan int64, capacity)
	last := make(chan int64)
	own := first
	for number := int64(1); number < threads; number++ {
		next := make(chan int64, capacity)
		go passOn(number, own, next, last)
		own = next
	}
	go passOn(threads, own, first, last)

	first <- hops
	fmt.Println(<-last)
}
