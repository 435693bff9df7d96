package registry

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blobs returns the blobs of layouts, or of the memory.
type blobs struct {
	mu     sync.RWMutex
	dirs   []string
	memory map[v1.Hash][]byte
}

var (
	_ registry.BlobHandler     = &blobs{}
	_ registry.BlobStatHandler = &blobs{}
)

func (b *blobs) read(dir string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs = append(b.dirs, dir)
}

func (b *blobs) keep(h v1.Hash, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memory[h] = data
}

// Get opens a blob.
func (b *blobs) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if data, ok := b.memory[h]; ok {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	for _, dir := range b.dirs {
		if f, err := os.Open(path(dir, h)); err == nil {
			return f, nil
		}
	}
	return nil, registry.ErrNotFound
}

// Stat returns the size of a blob.
func (b *blobs) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if data, ok := b.memory[h]; ok {
		return int64(len(data)), nil
	}
	for _, dir := range b.dirs {
		if info, err := os.Stat(path(dir, h)); err == nil {
			return info.Size(), nil
		}
	}
	return 0, registry.ErrNotFound
}

// path returns the file of a blob in a layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
func path(dir string, h v1.Hash) string { return filepath.Join(dir, "blobs", h.Algorithm, h.Hex) }
