// An HTTP service and eight clients of it in one process. All requests acquire one mutex, and compute with it. A line every
// 100 ms has the number of requests that were answered; it ends with its input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

type service struct {
	cache    sync.Mutex
	pages    map[string]int
	answered atomic.Int64
}

func (s *service) count(path string) int {
	s.cache.Lock()
	defer s.cache.Unlock()
	s.pages[path]++
	return s.pages[path]
}

func (s *service) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	fmt.Fprintln(answer, s.count(request.URL.Path))
	s.answered.Add(1)
}

func request(client *http.Client, address string) {
	answer, err := client.Get(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

func main() {
	s := &service{pages: map[string]int{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	for i := 0; i < 8; i++ {
		address := fmt.Sprintf("http://%s/page%d", listener.Addr(), i%3)
		go func() {
			for {
				request(client, address)
			}
		}()
	}
	go func() {
		for {
			time.Sleep(100 * time.Millisecond)
			fmt.Println(s.answered.Load())
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
