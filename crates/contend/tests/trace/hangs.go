// Programs that hang in a known way, and some that are only idle.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"
)

var accounts, journal sync.Mutex
var table sync.RWMutex
var both sync.WaitGroup

func meet() {
	both.Done()
	both.Wait()
}

func pay() {
	accounts.Lock()
	defer accounts.Unlock()
	meet()
	journal.Lock()
	defer journal.Unlock()
}

func audit() {
	journal.Lock()
	meet()
	accounts.Lock()
	accounts.Unlock()
	journal.Unlock()
}

type bank struct {
	name   string
	first  sync.Mutex
	second sync.RWMutex
	sum    int
}

func (b *bank) move() {
	b.first.Lock()
	defer b.first.Unlock()
	meet()
	b.second.Lock()
	b.sum++
	b.second.Unlock()
}

func (b *bank) check() {
	b.second.Lock()
	defer b.second.Unlock()
	meet()
	b.first.Lock()
	b.sum++
	b.first.Unlock()
}

func again() {
	accounts.Lock()
	accounts.Lock()
}

// reread takes a read lock again while a writer waits.
func reread(wanted chan bool) {
	table.RLock()
	wanted <- true
	time.Sleep(100 * time.Millisecond)
	table.RLock()
}

func rewrite(wanted chan bool) {
	<-wanted
	table.Lock()
}

//go:noinline
func lock(mutex *sync.Mutex) {
	mutex.Lock()
}

func twice() {
	accounts.Lock()
	fmt.Fprint(os.Stderr, "")
	accounts.Unlock()
	accounts.Lock()
	accounts.Unlock()
}

func (b *bank) outer(inner *bank) {
	b.first.Lock()
	b.sum++
	b.first.Unlock()
	inner.first.Lock()
	inner.first.Unlock()
}

func (b *bank) nested() {
	b.first.Lock()
	defer b.first.Unlock()
	b.outer(b)
}

// keeps holds a mutex that a function which has returned acquired.
func keeps(mutex *sync.Mutex) {
	lock(mutex)
	time.Sleep(5 * time.Second)
	mutex.Unlock()
}

func main() {
	fmt.Println("begins")
	both.Add(2)
	switch os.Args[1] {
	case "mutexes":
		go pay()
		go audit()
		time.Sleep(time.Hour)
	case "fields":
		b := &bank{}
		go b.move()
		go b.check()
		time.Sleep(time.Hour)
	case "nested":
		go (&bank{}).nested()
		time.Sleep(time.Hour)
	case "twice":
		go keeps(&accounts)
		time.Sleep(100 * time.Millisecond)
		twice()
	case "outer":
		one, other := &bank{}, &bank{}
		go keeps(&other.first)
		time.Sleep(100 * time.Millisecond)
		one.outer(other)
	case "turns":
		for range 8 {
			go func() {
				for {
					accounts.Lock()
					journal.Lock()
					time.Sleep(time.Millisecond)
					journal.Unlock()
					accounts.Unlock()
				}
			}()
		}
		time.Sleep(time.Hour)
	case "again":
		go again()
		time.Sleep(time.Hour)
	case "readers":
		wanted := make(chan bool)
		go reread(wanted)
		go rewrite(wanted)
		time.Sleep(time.Hour)
	case "cond":
		ready := sync.NewCond(&accounts)
		go func() { accounts.Lock(); ready.Wait() }()
		(&sync.WaitGroup{}).Wait()
		<-make(chan int)
	case "channels":
		one, other := make(chan int), make(chan int)
		var all sync.WaitGroup
		for i := 0; i < 5; i++ {
			all.Add(1)
			go func() { defer all.Done(); one <- <-other }()
		}
		all.Wait()
	case "server":
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		l.Accept()
	case "sleep":
		time.Sleep(time.Hour)
	case "signal":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		<-c
	case "ticker":
		for range time.Tick(100 * time.Millisecond) {
		}
	case "busy":
		for i := 0; ; i++ {
			if i < 0 {
				return
			}
		}
	case "select":
		c := make(chan int)
		go func() { time.Sleep(time.Hour); c <- 1 }()
		select {
		case <-c:
		}
	case "read":
		var b [1]byte
		os.Stdin.Read(b[:])
	}
}
