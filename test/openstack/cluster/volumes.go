//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// dataLink is the name of the link that is switched when the content of a volume changes, as kubelet has it.
const dataLink = "..data"

// volume is a folder of a pod.
type volume struct {
	dir      string
	writable bool
	source   corev1.VolumeSource
}

// volumes creates the folders of a pod. It fails while a Secret or ConfigMap is missing.
func (c *Cluster) volumes(ctx context.Context, p *corev1.Pod) (map[string]*volume, error) {
	out := map[string]*volume{}
	for _, v := range p.Spec.Volumes {
		vol := &volume{source: v.VolumeSource, dir: filepath.Join(c.dir, "volumes", string(p.UID), v.Name)}
		if v.PersistentVolumeClaim != nil {
			vol.dir = c.ClaimDir(p.Namespace, v.PersistentVolumeClaim.ClaimName)
		}
		if v.HostPath != nil {
			var err error
			if vol.dir, err = c.hostPath(p.Spec.NodeName, v.HostPath); err != nil {
				return nil, err
			}
			vol.writable = true
			out[v.Name] = vol
			continue
		}
		if err := os.MkdirAll(vol.dir, 0o755); err != nil {
			return nil, err
		}
		if v.EmptyDir != nil || v.PersistentVolumeClaim != nil {
			vol.writable = true
			if err := errors.Join(os.Chown(vol.dir, 0, group(p)), os.Chmod(vol.dir, 0o2777|os.ModeSetgid)); err != nil {
				return nil, err
			}
		} else if err := c.fill(ctx, p, vol); err != nil {
			return nil, err
		}
		out[v.Name] = vol
	}
	return out, nil
}

// ClaimDir returns the folder of a PersistentVolumeClaim, which outlives its pods.
func (c *Cluster) ClaimDir(namespace, name string) string {
	return filepath.Join(c.dir, "claims", namespace, name)
}

func group(p *corev1.Pod) int {
	if s := p.Spec.SecurityContext; s != nil {
		return int(ptr.Deref(s.FSGroup, 0))
	}
	return 0
}

// fill writes the current contents of a volume, if they have changed.
func (c *Cluster) fill(ctx context.Context, p *corev1.Pod, v *volume) error {
	data, items, mode, err := c.content(ctx, p, v.source)
	if err != nil {
		return err
	}
	if data, err = chosen(data, items); err != nil {
		return fmt.Errorf("cannot mount a volume of pod %s: %w", p.Name, err)
	}
	if same(filepath.Join(v.dir, dataLink), data) {
		return nil
	}
	return write(v.dir, data, mode, group(p))
}

// chosen returns the keys of a volume, by path: all, unless it lists some.
func chosen(data map[string][]byte, items []corev1.KeyToPath) (map[string][]byte, error) {
	if len(items) == 0 {
		return data, nil
	}
	out := map[string][]byte{}
	for _, i := range items {
		value, ok := data[i.Key]
		if !ok {
			return nil, fmt.Errorf("there is no key %s", i.Key)
		}
		out[i.Path] = value
	}
	return out, nil
}

func (c *Cluster) content(ctx context.Context, p *corev1.Pod, s corev1.VolumeSource) (
	data map[string][]byte, items []corev1.KeyToPath, mode os.FileMode, err error,
) {
	const usual = 0o644
	namespace := p.Namespace
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Name == rootAuthority:
		return map[string][]byte{"ca.crt": c.RootAuthority}, s.ConfigMap.Items, usual, nil
	case s.Secret != nil:
		o := &corev1.Secret{}
		err = c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.Secret.SecretName}, o)
		return o.Data, s.Secret.Items, os.FileMode(ptr.Deref(s.Secret.DefaultMode, usual)), err //nolint:gosec // a file mode
	case s.ConfigMap != nil:
		o := &corev1.ConfigMap{}
		err = c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.ConfigMap.Name}, o)
		data = map[string][]byte{}
		for k, v := range o.Data {
			data[k] = []byte(v)
		}
		return data, s.ConfigMap.Items, os.FileMode(ptr.Deref(s.ConfigMap.DefaultMode, usual)), err //nolint:gosec // a file mode
	case s.Projected != nil:
		data = map[string][]byte{}
		for _, source := range s.Projected.Sources {
			var one corev1.VolumeSource
			switch {
			case source.Secret != nil:
				one.Secret = &corev1.SecretVolumeSource{SecretName: source.Secret.Name, Items: source.Secret.Items}
			case source.ConfigMap != nil:
				one.ConfigMap = &corev1.ConfigMapVolumeSource{
					LocalObjectReference: source.ConfigMap.LocalObjectReference, Items: source.ConfigMap.Items,
				}
			case source.ServiceAccountToken != nil:
				data[source.ServiceAccountToken.Path] = tokenOf(p)
				continue
			default:
				return nil, nil, 0, errors.New("cannot mount a projected volume of anything but Secrets, ConfigMaps and tokens")
			}
			some, items, _, err := c.content(ctx, p, one)
			if err != nil {
				return nil, nil, 0, err
			}
			if some, err = chosen(some, items); err != nil {
				return nil, nil, 0, err
			}
			maps.Copy(data, some)
		}
		return data, nil, os.FileMode(ptr.Deref(s.Projected.DefaultMode, usual)), nil //nolint:gosec // a file mode
	}
	return nil, nil, 0, errors.New("cannot mount a volume of a kind that the fake cluster does not support")
}

func same(dir string, data map[string][]byte) bool {
	files := 0
	err := filepath.WalkDir(dir+"/", func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != len(data) {
		return false
	}
	for name, want := range data {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			return false
		}
	}
	return true
}

// write writes files into a new folder, and then changes the volume's link to it: a reader sees all of them or none.
// With a group, files are also readable by it, as Kubernetes does for an fsGroup.
func write(dir string, data map[string][]byte, mode os.FileMode, gid int) error {
	name := ".." + strconv.FormatInt(time.Now().UnixNano(), 36)
	old, _ := os.Readlink(filepath.Join(dir, dataLink))
	tops := map[string]bool{} // targets of links: files, and folders that have some
	if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
		return err
	}
	if gid != 0 {
		mode |= 0o440
	}
	for key, value := range data {
		file := filepath.Join(dir, name, key)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, value, mode), os.Chown(file, 0, gid),
			os.Chmod(file, mode)); err != nil {
			return err
		}
		first := top(key)
		tops[first] = true
		link := filepath.Join(dir, first)
		if _, err := os.Lstat(link); err != nil {
			if err := os.Symlink(filepath.Join(dataLink, first), link); err != nil {
				return err
			}
		}
	}
	next := filepath.Join(dir, "..next")
	if err := errors.Join(os.Symlink(name, next), os.Rename(next, filepath.Join(dir, dataLink))); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries { // removed keys
		if !tops[e.Name()] && e.Type()&os.ModeSymlink != 0 && e.Name() != dataLink {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if old != "" {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, old)))
	}
	return err
}

// top returns the first part of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// refreshVolumes updates Secrets in running pods, as a kubelet does, but sooner.
func (c *Cluster) refreshVolumes(ctx context.Context) error {
	c.mu.Lock()
	pods := make([]*pod, 0, len(c.pods))
	for _, p := range c.pods {
		pods = append(pods, p)
	}
	c.mu.Unlock()
	for _, p := range pods {
		for _, v := range p.mounted() {
			if v.source.Secret == nil && v.source.ConfigMap == nil && v.source.Projected == nil {
				continue
			}
			if err := c.fill(ctx, p.object, v); err != nil && client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

// mounts returns the mounts of a container's volumes. A single file of a volume keeps its current contents forever.
func mounts(container *corev1.Container, volumes map[string]*volume) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	for _, m := range container.VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("container %s mounts %s, which is no volume of its pod", container.Name, m.Name)
		}
		source := v.dir
		if m.SubPath != "" {
			var err error
			if source, err = filepath.EvalSymlinks(filepath.Join(v.dir, m.SubPath)); err != nil {
				return nil, fmt.Errorf("container %s mounts %s of %s, which is not there: %w", container.Name, m.SubPath, m.Name, err)
			}
		}
		out = append(out, sandbox.Mount{Source: source, Target: m.MountPath, Writable: v.writable && !m.ReadOnly})
	}
	return out, nil
}
