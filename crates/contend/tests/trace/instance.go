// What another trace does to this process: `pairs MS` exchanges messages between two goroutines, and prints ten times a
// second how many exchanges each second of its CPU time had, and each second; `locks MS` lets goroutines wait for a mutex, and checks
// that a number in its code stays what it is; `execs MS PROGRAM ...` does so for a while, and then becomes PROGRAM.
// With FAKE, it maps that file below its own code; with `place`, it prints where the number is in its file.
package main

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func number() uint32 { return 0x90909090 }

var (
	mutex sync.Mutex
	// Not a constant, which the compiler would compare with.
	expected = ^uint32(0x6f6f6f6f)
)

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func pairs(end time.Time) {
	there, back := make(chan int), make(chan int)
	go func() {
		for value := range there {
			back <- value
		}
	}()
	for time.Now().Before(end) {
		used, began, count := cpu(), time.Now(), 0
		for ; time.Since(began) < 100*time.Millisecond; count++ {
			there <- 1
			<-back
		}
		per := func(span time.Duration) int { return int(float64(count) / span.Seconds()) }
		fmt.Println(time.Now().UnixMilli(), per(cpu()-used), per(time.Since(began)))
	}
}

func locks(end time.Time) {
	for range [3]int{} {
		go func() {
			for {
				mutex.Lock()
				time.Sleep(100 * time.Microsecond)
				mutex.Unlock()
			}
		}()
	}
	for time.Now().Before(end) {
		if found := number(); found != expected {
			fmt.Printf("the number is %#x\n", found)
			os.Exit(3)
		}
		time.Sleep(time.Millisecond)
	}
}

func main() {
	if os.Args[1] == "place" {
		fmt.Println(reflect.ValueOf(number).Pointer())
		return
	}
	if fake := os.Getenv("FAKE"); fake != "" {
		file, _ := os.Open(fake)
		info, _ := file.Stat()
		const rights, flags = syscall.PROT_READ | syscall.PROT_EXEC, syscall.MAP_PRIVATE | syscall.MAP_FIXED
		_, _, failed := syscall.Syscall6(syscall.SYS_MMAP, 0x20000, uintptr(info.Size()), rights, flags, file.Fd(), 0)
		if failed != 0 {
			panic(failed)
		}
	}
	ms, _ := strconv.Atoi(os.Args[2])
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	switch os.Args[1] {
	case "pairs":
		pairs(end)
	case "locks":
		locks(end)
	case "execs":
		locks(end)
		panic(syscall.Exec(os.Args[3], os.Args[3:], os.Environ()))
	}
}
