// Package store keeps things.
package store

import (
	"context"
	f "fmt"
	. "os"
)

//go:generate stringer
// Engine runs. It is safe for use by many.
type Engine[K comparable, V any] struct {
	base.Runner
	*Log
	size int
}

type (
	// Reader reads.
	Reader interface {
		// Read fills p.
		Read(p []byte) (n int, err error)
		Closer
	}
	ID = string
	Seconds int64
)

// New makes an Engine.
func New(size, depth int, options ...Option) (*Engine[string, int], error) {
	inner := func(x int) int { return x }
	return nil, f.Errorf("no %d", inner(size))
}

/*
Run runs it.
*/
func (e *Engine[K, V]) Run(ctx context.Context, work func(K) (V, error)) error {
	return nil
}

func (Seconds) String() string { return "" }

var handler = func(w Writer) {}

func external(a int) bool
