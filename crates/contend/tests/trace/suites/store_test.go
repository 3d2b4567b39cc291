package store

import (
	"sync"
	"testing"
)

var accounts, journal sync.Mutex

func TestAdds(t *testing.T) {
	if 1+1 != 2 {
		t.Fatal("wrong")
	}
}

func TestPays(t *testing.T) {
	var both, all sync.WaitGroup
	both.Add(2)
	all.Add(2)
	lock := func(one, other *sync.Mutex) {
		defer all.Done()
		one.Lock()
		both.Done()
		both.Wait()
		other.Lock()
		other.Unlock()
		one.Unlock()
	}
	go lock(&accounts, &journal)
	go lock(&journal, &accounts)
	all.Wait()
}
