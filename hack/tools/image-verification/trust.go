package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	sigstore "github.com/sigstore/sigstore/pkg/tuf"
	"github.com/theupdateframework/go-tuf"
)

// targets are the files of a Sigstore instance in its TUF repository, with their usage.
var targets = map[string]string{"fulcio.crt.pem": "Fulcio", "ctfe.pub": "CTFE", "rekor.pub": "Rekor"}

// serveTrust makes a TUF repository of a folder, and this process a client of it: the code of Crossplane accepts trusted certificates and
// keys from no other source.
func serveTrust(ctx context.Context, folder string) (stop func(), err error) {
	scratch, err := os.MkdirTemp("", "image-verification-")
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(scratch, "repository"))))
	stop = func() {
		server.Close()
		_ = os.RemoveAll(scratch)
	}
	root, err := repository(scratch, folder)
	if err == nil {
		err = errors.Join(os.Setenv(sigstore.TufRootEnv, filepath.Join(scratch, "cache")), os.MkdirAll(filepath.Join(scratch, "cache"), 0o700))
	}
	if err == nil {
		err = sigstore.Initialize(ctx, server.URL, root)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// repository writes a TUF repository with the files of a folder, and returns its root.
func repository(scratch, folder string) ([]byte, error) {
	store := tuf.FileSystemStore(scratch, nil)
	repo, err := tuf.NewRepo(store)
	if err != nil {
		return nil, err
	}
	if err := repo.Init(false); err != nil {
		return nil, err
	}
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if _, err := repo.GenKey(role); err != nil {
			return nil, err
		}
	}
	staged := filepath.Join(scratch, "staged", "targets")
	if err := os.MkdirAll(staged, 0o755); err != nil {
		return nil, err
	}
	for target, usage := range targets {
		data, err := os.ReadFile(filepath.Join(folder, target))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(staged, target), data, 0o600); err != nil {
			return nil, err
		}
		custom, err := json.Marshal(map[string]any{"sigstore": map[string]string{"usage": usage, "status": "Active"}})
		if err != nil {
			return nil, err
		}
		if err := repo.AddTarget(target, custom); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(repo.Snapshot(), repo.Timestamp(), repo.Commit()); err != nil {
		return nil, err
	}
	meta, err := store.GetMeta()
	return meta["root.json"], err
}
