//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// nodeName is the only node of a cluster.
const nodeName = "node-0"

// node is what a pod sees that asks for the node's network: one of this cluster's own, so that two clusters have the same ports.
type node struct {
	network *sandbox.Container
	address string
}

// holder starts a container that does nothing but hold a network.
func holder(name, address string) (*sandbox.Container, error) {
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // nothing is written
	return sandbox.Start(sandbox.Spec{
		Name: name, Address: address, Args: []string{"/usr/bin/sleep", "infinity"},
		Mounts: []sandbox.Mount{{Source: "/usr", Target: "/usr"}}, Links: baseLinks, UserID: 65535, GroupID: 65535,
	}, log)
}

// theNode returns the node, which starts with the first pod that asks for its network.
func (c *Cluster) theNode() (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.node != nil {
		return c.node, nil
	}
	address := newAddress()
	network, err := holder(nodeName, address)
	if err != nil {
		return nil, fmt.Errorf("cannot start the node: %w", err)
	}
	c.node = &node{network: network, address: address}
	return c.node, nil
}

// machineFolders are folders of the node that this machine's kernel fills; all others are the cluster's own.
var machineFolders = []string{"/dev", "/lib/modules", "/proc", "/sys"}

// hostPath is a folder of the node. It is made if there is none.
func (c *Cluster) hostPath(path string) (string, error) {
	path = filepath.Clean(path)
	if slices.ContainsFunc(machineFolders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") }) {
		return path, nil
	}
	dir := filepath.Join(c.dir, "node", path)
	return dir, os.MkdirAll(dir, 0o755)
}
