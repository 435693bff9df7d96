//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// firstNode is the node of all pods without a node.
const firstNode = "node-0"

// node is the network and processes of a node for pods with host network or host PID: they are separate for each node,
// so that two clusters, and two nodes of one, can use the same ports.
type node struct {
	name string
	// first is its first process, which has the network.
	first   *sandbox.Container
	address string
	// group is its control group, which replaces the machine's for it, and mounts are its mount points.
	group  string
	mounts []string
}

// holder starts a container that only holds a network and a PID namespace.
func holder(name, address string) (*sandbox.Container, error) {
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // nothing is written
	return sandbox.Start(sandbox.Spec{
		Name: name, Address: address, Mounts: []sandbox.Mount{{Source: "/usr", Target: "/usr"}}, Links: baseLinks, UserID: 65535, GroupID: 65535,
	}, log)
}

// theNode returns a node, which starts with the first pod that uses its network.
func (c *Cluster) theNode(name string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes[name]; n != nil {
		return n, nil
	}
	if c.off[name] {
		return nil, fmt.Errorf("node %s has no power", name)
	}
	if c.addresses[name] == "" {
		c.addresses[name] = newAddress() // It keeps the address after a restart.
	}
	group := filepath.Join(sandbox.OwnGroup(), fmt.Sprintf("%s-%d", name, numbers.Add(1)))
	n := &node{name: name, address: c.addresses[name], group: group}
	var err error
	if n.first, err = holder(name, n.address); err != nil {
		return nil, fmt.Errorf("cannot start node %s: %w", name, err)
	}
	c.nodes[name] = n
	if err := c.register(n); err != nil {
		return nil, err
	}
	for card, bridge := range c.uplinks {
		if err := n.plug(card, bridge); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// register creates the Node object of a node, with its address, like its kubelet.
func (c *Cluster) register(n *node) error {
	ctx, object := context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(object), object); apierrors.IsNotFound(err) {
		err = c.Client.Create(ctx, object)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.address}}
	return c.Client.Status().Update(ctx, object)
}

// Uplink adds an interface with a name to each node, like a network card. The other ends are in a bridge of this
// machine without an address, whose name is returned. Checksum offloading is disabled on it.
func (c *Cluster) Uplink(card string) (bridge string, err error) {
	if bridge, err = sandbox.NewBridge(); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.uplinks[card] = bridge
	running := slices.Collect(maps.Values(c.nodes))
	c.mu.Unlock()
	for _, n := range running {
		err = errors.Join(err, n.plug(card, bridge))
	}
	for name := range c.Nodes {
		_, e := c.theNode(name)
		err = errors.Join(err, e)
	}
	return bridge, err
}

func (n *node) plug(card, bridge string) error {
	other, err := n.first.Link(card)
	if err == nil {
		err = sandbox.Join(other, bridge)
	}
	if err != nil {
		return fmt.Errorf("cannot give node %s its interface %s: %w", n.name, card, err)
	}
	return nil
}

// PowerOff ends everything on a node immediately, including servers. Memory is lost, and disks are kept.
func (c *Cluster) PowerOff(name string) error {
	c.mu.Lock()
	n := c.nodes[name]
	c.off[name] = true
	var pods []*pod
	for _, p := range c.pods {
		if p.nodeName() == name {
			pods = append(pods, p)
		}
	}
	c.mu.Unlock()
	var wait sync.WaitGroup
	for _, p := range pods {
		wait.Go(p.kill)
	}
	wait.Wait()
	if n == nil {
		return nil
	}
	n.stop()
	c.mu.Lock()
	delete(c.nodes, name)
	c.mu.Unlock()
	return os.RemoveAll(c.onNode(name, "/run"))
}

// PowerOn starts a node again, with its pods.
func (c *Cluster) PowerOn(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.off, name)
}

// Retire removes a node without power from the cluster permanently: DaemonSets ignore it.
func (c *Cluster) Retire(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired[name] = true
}

func (c *Cluster) isRetired(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired[node]
}

// stop ends all processes that pods have left.
func (n *node) stop() {
	n.first.Kill()
	for _, target := range n.mounts {
		_ = unix.Unmount(target, unix.MNT_DETACH) // it is unused by now
	}
	sandbox.RemoveGroup(n.group)
}

// onNode returns a file or folder of a node, on this machine.
func (c *Cluster) onNode(name, path string) string { return filepath.Join(c.dir, "nodes", name, path) }

// machineFolders are folders of the node that this machine's kernel fills; all others are private to the cluster.
var machineFolders = []string{"/dev", "/lib/modules", "/proc", "/sys"}

// hostPath returns a file or folder of the node, as Kubernetes mounts it into pods: a path that must exist is not
// created. https://kubernetes.io/docs/concepts/storage/volumes/#hostpath-volume-types
func (c *Cluster) hostPath(node string, h *corev1.HostPathVolumeSource) (string, error) {
	path := filepath.Clean(h.Path)
	kind := corev1.HostPathDirectoryOrCreate
	if h.Type != nil && *h.Type != corev1.HostPathUnset {
		kind = *h.Type
	}
	dir := c.onNode(node, path)
	switch {
	case path == sandbox.Groups:
		if err := c.controlGroups(node, dir); err != nil {
			return "", err
		}
	case path == machineID:
		if err := c.identify(dir); err != nil {
			return "", err
		}
	case slices.ContainsFunc(machineFolders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") }):
		dir = path
	case kind == corev1.HostPathDirectoryOrCreate:
		return dir, os.MkdirAll(dir, 0o755)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("the node has no %s: %w", path, err)
	}
	is := map[corev1.HostPathType]bool{
		corev1.HostPathDirectoryOrCreate: info.IsDir(), corev1.HostPathDirectory: info.IsDir(), corev1.HostPathFile: info.Mode().IsRegular(),
		corev1.HostPathCharDev: info.Mode()&os.ModeCharDevice != 0, corev1.HostPathSocket: info.Mode()&os.ModeSocket != 0,
	}
	if !is[kind] {
		return "", fmt.Errorf("%s of the node is no %s", path, kind)
	}
	return dir, nil
}

// machineID is the file with the ID of a node
// (https://www.freedesktop.org/software/systemd/man/latest/machine-id.html).
const machineID = "/etc/machine-id"

func (c *Cluster) identify(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	id := strings.ReplaceAll(string(uuid.NewUUID()), "-", "")
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(id+"\n"), 0o444))
}

// controlGroups mounts the node's control group, in every hierarchy, at the mount point of all control groups of a
// node.
func (c *Cluster) controlGroups(node, at string) error {
	n, err := c.theNode(node)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dirs, err := sandbox.MakeGroup(n.group)
	if err != nil {
		return err
	}
	for name, dir := range dirs {
		target := filepath.Join(at, name)
		var existing, is unix.Stat_t
		if err := errors.Join(os.MkdirAll(target, 0o755), unix.Stat(target, &existing), unix.Stat(dir, &is)); err != nil {
			return err
		}
		if existing.Dev == is.Dev && existing.Ino == is.Ino {
			continue // an earlier pod mounted it
		}
		if err := unix.Mount(dir, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("cannot show control group %s: %w", dir, err)
		}
		n.mounts = append(n.mounts, target)
	}
	return nil
}

// runsOn reports whether pods of a template may run on a node with these labels, by selector and node affinity; pod
// anti-affinity is ignored.
func runsOn(nodeLabels map[string]string, t *corev1.PodSpec) (bool, error) {
	of := labels.Set(nodeLabels)
	if !labels.SelectorFromSet(t.NodeSelector).Matches(of) {
		return false, nil
	}
	if t.Affinity == nil || t.Affinity.NodeAffinity == nil || t.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true, nil
	}
	for _, term := range t.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		all := labels.NewSelector()
		for _, e := range term.MatchExpressions {
			r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
			if err != nil {
				return false, fmt.Errorf("cannot read an affinity: %w", err)
			}
			all = all.Add(*r)
		}
		if all.Matches(of) {
			return true, nil
		}
	}
	return false, nil
}

// operators of affinities, as selectors have them.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn, corev1.NodeSelectorOpExists: selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, corev1.NodeSelectorOpGt: selection.GreaterThan,
	corev1.NodeSelectorOpLt: selection.LessThan,
}
