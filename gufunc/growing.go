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

// numbered are items by numbers that are never used again.
type numbered[T any] struct {
	mu       sync.RWMutex
	last     uintptr
	byNumber map[uintptr]T
}

func (l *numbered[T]) add(item T) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.byNumber[l.last] = item
	return l.last
}

func (l *numbered[T]) get(number uintptr) T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byNumber[number]
}

func (l *numbered[T]) remove(number uintptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byNumber, number)
}

func (l *growing[T]) list() []T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all
}
