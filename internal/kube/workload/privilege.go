package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PrivilegeAnnotation of a pod says why it may do more than the restricted Pod Security Standard allows: a line for each container.
const PrivilegeAnnotation = "crossplane.c5c3.io/privileges"

// Privilege is what one container may do beyond the restricted Pod Security Standard, and why. Its namespace has to allow it.
type Privilege struct {
	// Container that may do it, by name.
	Container string
	// Reason in one line: what fails without it.
	Reason string
	// RunAsUser in place of the pod's user, who is never root. Root has root's group, too: files that it makes on the node are root's, and
	// programs look up who they are (libvirt's daemon crashes where its group has no name).
	RunAsUser *int64
	// Capabilities of a container that runs as root; for others they have no effect.
	Capabilities []corev1.Capability
	// Mounts of its own, such as those of network namespaces: AppArmor's default profile refuses them, whatever capabilities there are.
	Mounts bool
	// Privileged: everything that the node's root may do. Prefer capabilities and host paths.
	Privileged bool
	// HostPaths of the node that the container sees.
	HostPaths []HostPath
	// HostNetwork and HostPID of the node, which all containers of the pod get.
	HostNetwork, HostPID bool
}

// HostPath is a file or folder of the node in a container.
type HostPath struct {
	// Name of the volume, unique in the pod. Containers that name the same one share it.
	Name string
	// Path on the node, and MountPath in the container. Empty: the same.
	Path, MountPath string
	// Type that the path must have. Empty: none is checked.
	Type corev1.HostPathType
	// ReadOnly: the container only reads.
	ReadOnly bool
	// Propagation of mounts between node and container. Empty: none.
	Propagation corev1.MountPropagationMode
}

// Allow gives privileges to containers of a pod that is restricted otherwise. It is an error to ask for one without a reason, for a
// container that is not there, or for what Kubernetes refuses or ignores.
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
		// The API server refuses one without the other.
		security.Privileged, security.AllowPrivilegeEscalation = new(true), new(true)
	}
	for _, h := range p.HostPaths {
		h.mount(spec, c)
	}
	if p.HostNetwork {
		// Without it, names of the cluster are asked of the node's own resolver.
		spec.HostNetwork, spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
	}
	spec.HostPID = spec.HostPID || p.HostPID
	return nil
}

// check reports the first mistake.
func (p Privilege) check(spec *corev1.PodSpec, c *corev1.Container) error {
	user := spec.SecurityContext.RunAsUser
	for _, u := range []*int64{c.SecurityContext.RunAsUser, p.RunAsUser} {
		if u != nil {
			user = u
		}
	}
	switch {
	case strings.TrimSpace(p.Reason) == "":
		return errors.New("it has no reason")
	case strings.Contains(p.Reason, "\n"):
		return errors.New("its reason is more than one line")
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

// mount adds the path to a container, and to the pod's volumes unless another container has it already.
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
