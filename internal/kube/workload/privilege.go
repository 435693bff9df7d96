package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PrivilegeAnnotation of a pod lists the reasons for privileges beyond the restricted Pod Security Standard: a line for each container.
const PrivilegeAnnotation = "crossplane.c5c3.io/privileges"

// Privilege is a set of rights of one container beyond the restricted Pod Security Standard. Its namespace must allow them.
type Privilege struct {
	// Container is the name of the container.
	Container string
	// Reason is one line: the failure without the privilege.
	Reason string
	// RunAsUser replaces the pod's user, which is never root. Root also gets root's group: files that it creates on the node belong to
	// root, and processes look up their group (libvirt's daemon crashes if its group has no name).
	RunAsUser *int64
	// Capabilities of a container that runs as root; for others they have no effect.
	Capabilities []corev1.Capability
	// Mounts allows mounts in the container, such as network namespaces: AppArmor's default profile denies them, even with capabilities.
	Mounts bool
	// Privileged: all rights of the node's root. Prefer capabilities and host paths.
	Privileged bool
	// HostPaths of the node that are mounted in the container.
	HostPaths []HostPath
	// HostNetwork and HostPID use the namespaces of the node, for all containers of the pod.
	HostNetwork, HostPID bool
}

// HostPath is a file or directory of the node in a container.
type HostPath struct {
	// Name of the volume, unique in the pod. Containers with the same name share it.
	Name string
	// Path on the node, and MountPath in the container. Empty: the same.
	Path, MountPath string
	// Type that the path must have. Empty: not checked.
	Type corev1.HostPathType
	// ReadOnly mounts it read-only.
	ReadOnly bool
	// Propagation of mounts between node and container. Empty: none.
	Propagation corev1.MountPropagationMode
}

// Allow adds privileges to containers of a restricted pod. It returns an error for a privilege without a reason, for a container that does
// not exist, and for settings that Kubernetes rejects or ignores.
func Allow(pod *corev1.PodTemplateSpec, privileges ...Privilege) error {
	var reasons []string
	var errs []error
	for _, p := range privileges {
		if err := p.allow(&pod.Spec); err != nil {
			errs = append(errs, fmt.Errorf("cannot give container %q a privilege: %w", p.Container, err))
			continue
		}
		reasons = append(reasons, p.Container+": "+p.Reason)
	}
	if len(reasons) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[PrivilegeAnnotation] = strings.Join(reasons, "\n")
	}
	return errors.Join(errs...)
}

func (p Privilege) allow(spec *corev1.PodSpec) error {
	c := container(spec, p.Container)
	if c == nil {
		return errors.New("the pod has no such container")
	}
	if err := p.check(spec, c); err != nil {
		return err
	}
	security := c.SecurityContext
	if p.RunAsUser != nil {
		security.RunAsUser = p.RunAsUser
		security.RunAsNonRoot = new(*p.RunAsUser != 0)
		if *p.RunAsUser == 0 {
			security.RunAsGroup = p.RunAsUser
		}
	}
	security.Capabilities.Add = append(security.Capabilities.Add, p.Capabilities...)
	if p.Mounts {
		security.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	}
	if p.Privileged {
		// The API server requires both.
		security.Privileged, security.AllowPrivilegeEscalation = new(true), new(true)
	}
	for _, h := range p.HostPaths {
		h.mount(spec, c)
	}
	if p.HostNetwork {
		// With the default policy, the node's resolver would be used for cluster names.
		spec.HostNetwork, spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
	}
	spec.HostPID = spec.HostPID || p.HostPID
	return nil
}

// check returns the first error.
func (p Privilege) check(spec *corev1.PodSpec, c *corev1.Container) error {
	user := spec.SecurityContext.RunAsUser
	for _, u := range []*int64{c.SecurityContext.RunAsUser, p.RunAsUser} {
		if u != nil {
			user = u
		}
	}
	switch {
	case strings.TrimSpace(p.Reason) == "":
		return errors.New("it requires a reason")
	case strings.Contains(p.Reason, "\n"):
		return errors.New("its reason must be one line")
	case len(p.Capabilities) > 0 && *user != 0:
		return fmt.Errorf("capabilities have no effect for user %d, only for root", *user)
	}
	for _, h := range p.HostPaths {
		switch {
		case h.Name == "" || !strings.HasPrefix(h.Path, "/"):
			return fmt.Errorf("host path %q (%q) needs a name and an absolute path", h.Name, h.Path)
		case h.Propagation == corev1.MountPropagationBidirectional && !p.Privileged:
			return fmt.Errorf("mounts below host path %q reach the node only from a privileged container", h.Name)
		}
		if v := volume(spec, h.Name); v != nil && (v.HostPath == nil || v.HostPath.Path != h.Path) {
			return fmt.Errorf("volume %q is another one", h.Name)
		}
	}
	return nil
}

// mount adds the path to a container, and to the pod's volumes unless it exists.
func (h HostPath) mount(spec *corev1.PodSpec, c *corev1.Container) {
	if volume(spec, h.Name) == nil {
		source := &corev1.HostPathVolumeSource{Path: h.Path}
		if h.Type != "" {
			source.Type = new(h.Type)
		}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: h.Name, VolumeSource: corev1.VolumeSource{HostPath: source}})
	}
	m := corev1.VolumeMount{Name: h.Name, MountPath: h.MountPath, ReadOnly: h.ReadOnly}
	if m.MountPath == "" {
		m.MountPath = h.Path
	}
	if h.Propagation != "" {
		m.MountPropagation = new(h.Propagation)
	}
	c.VolumeMounts = append(c.VolumeMounts, m)
}

func container(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		if i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func volume(spec *corev1.PodSpec, name string) *corev1.Volume {
	if i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }); i >= 0 {
		return &spec.Volumes[i]
	}
	return nil
}
