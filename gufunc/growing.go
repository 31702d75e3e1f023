package gufunc

import "sync"

// growing is a list that only grows; readers see one that does not change under them.
type growing[T any] struct {
	mu  sync.RWMutex
	all []T
}

// add gives the number of what it adds.
func (l *growing[T]) add(item T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all[:len(l.all):len(l.all)], item)
	return len(l.all) - 1
}

func (l *growing[T]) list() []T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all
}
