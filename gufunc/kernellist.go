package gufunc

import "sync"

// kernelList only grows, and readers see a list that does not change under them.
type kernelList struct {
	mu  sync.RWMutex
	all []Kernel
}

func (l *kernelList) add(k Kernel) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all[:len(l.all):len(l.all)], k)
	return len(l.all) - 1
}

func (l *kernelList) list() []Kernel {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all
}
