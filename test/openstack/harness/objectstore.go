//go:build openstack && linux

package harness

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
)

// ObjectStore is an S3 server at a host, with one bucket and one account.
type ObjectStore struct {
	Host, Bucket, Key, Secret string
	// Region that clients have to name. Absent: us-east-1.
	Region string

	folder string
}

// Start runs the server until the end of the test, with a certificate of a CA.
func (s *ObjectStore) Start(t *testing.T, c *cluster.Cluster, authority *pki.Authority) error {
	t.Helper()
	s.folder = t.TempDir()
	pair, err := authority.Issue(pki.Subject{Hosts: []string{s.Host}})
	if err != nil {
		return err
	}
	address, err := c.Address(s.Host)
	if err != nil {
		return err
	}
	certificate, key := filepath.Join(s.folder, "tls.crt"), filepath.Join(s.folder, "tls.key")
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err := errors.Join(err, os.WriteFile(certificate, pair.Certificate, 0o600), os.WriteFile(key, pair.Key, 0o600)); err != nil {
		return err
	}
	server := exec.Command(Programs.ObjectStore,
		"-address", address+":443", "-folder", filepath.Join(s.folder, "data"), "-certificate", certificate, "-key", key,
		"-region", cmp.Or(s.Region, "us-east-1"), s.Bucket)
	server.Env = []string{"ROOT_ACCESS_KEY_ID=" + s.Key, "ROOT_SECRET_ACCESS_KEY=" + s.Secret}
	server.Stdout, server.Stderr = log, log
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		return err
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return nil
}

// Names returns the names of the objects in the bucket, in order.
func (s *ObjectStore) Names(t *testing.T) []string {
	t.Helper()
	var out []string
	root := filepath.Join(s.folder, "data", "objects", s.Bucket)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == parts:
			return filepath.SkipDir
		case e.Type().IsRegular():
			name, err := filepath.Rel(root, path)
			out = append(out, name)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parts is the folder in which the server assembles multipart uploads (versitygw, backend/posix/posix.go).
const parts = ".sgwtmp"
