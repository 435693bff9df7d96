//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// Image is an image composed of files of this machine: Debian's /usr, read-only, and the mounts below.
type Image struct {
	// Root of another Debian, whose /usr is taken; empty: this machine's.
	Root string
	// Mounts and Env in addition to those of every image. The last of several variables of one name counts.
	Mounts []sandbox.Mount
	Env    []string
	// Entrypoint stands before a container's arguments where it has no command.
	Entrypoint []string
}

// base is the part of every image from Debian, so that /etc is not this machine's.
var (
	baseMounts = []string{"/usr", "/etc/ssl", "/etc/ld.so.cache", "/etc/alternatives"}
	baseLinks  = []sandbox.Link{
		{Target: "usr/bin", Path: "/bin"}, {Target: "usr/sbin", Path: "/sbin"},
		{Target: "usr/lib", Path: "/lib"}, {Target: "usr/lib64", Path: "/lib64"}, {Target: "/run", Path: "/var/run"},
	}
	baseFiles = map[string]string{
		"passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nservice:x:%[1]d:%[1]d::/nonexistent:/usr/sbin/nologin\n" +
			"openstack:x:42424:42424::/nonexistent:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		// Pods that run as another user have the user of images, too.
		"group":         "root:x:0:\nservice:x:%[1]d:\nopenstack:x:42424:\nnogroup:x:65534:\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"resolv.conf":   "",
	}
)

// base writes the files of /etc for a user, and returns all mounts of an image.
func (c *Cluster) base(i Image, user int) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	for _, m := range baseMounts {
		source := filepath.Join("/", i.Root, m)
		if _, err := os.Stat(source); err == nil { // not every Debian has all of them
			out = append(out, sandbox.Mount{Source: source, Target: m})
		}
	}
	etc := filepath.Join(c.dir, "etc", fmt.Sprint(user))
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return nil, err
	}
	for name, format := range baseFiles {
		text := format
		if text != "" && name != "nsswitch.conf" {
			text = fmt.Sprintf(format, user)
		}
		file := filepath.Join(etc, name)
		if _, err := os.Stat(file); err != nil {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
		out = append(out, sandbox.Mount{Source: file, Target: "/etc/" + name})
	}
	out = append(out, sandbox.Mount{Source: sandbox.Hosts, Target: sandbox.Hosts})
	return append(out, i.Mounts...), nil
}
