package c5c3

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Reference refers to a Secret or ConfigMap that a pod requires to start.
type Reference struct{ Kind, Name string }

// References returns the Secrets and ConfigMaps that a pod requires, sorted, without optional ones.
func References(pod *corev1.PodSpec) []Reference {
	found := needed{}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		found.environment(&c)
	}
	for i := range pod.Volumes {
		found.volume(&pod.Volumes[i].VolumeSource)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Reference) int {
		// Secrets first, because they are usually created last.
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Name, b.Name))
	})
}

type needed map[Reference]bool

func (n needed) add(kind, name string, optional *bool) {
	if name != "" && !ptr.Deref(optional, false) {
		n[Reference{kind, name}] = true
	}
}

func (n needed) environment(c *corev1.Container) {
	for _, e := range c.EnvFrom {
		if r := e.SecretRef; r != nil {
			n.add("Secret", r.Name, r.Optional)
		}
		if r := e.ConfigMapRef; r != nil {
			n.add("ConfigMap", r.Name, r.Optional)
		}
	}
	for _, e := range c.Env {
		from := ptr.Deref(e.ValueFrom, corev1.EnvVarSource{})
		if r := from.SecretKeyRef; r != nil {
			n.add("Secret", r.Name, r.Optional)
		}
		if r := from.ConfigMapKeyRef; r != nil {
			n.add("ConfigMap", r.Name, r.Optional)
		}
	}
}

func (n needed) volume(v *corev1.VolumeSource) {
	if r := v.Secret; r != nil {
		n.add("Secret", r.SecretName, r.Optional)
	}
	if r := v.ConfigMap; r != nil {
		n.add("ConfigMap", r.Name, r.Optional)
	}
	for _, s := range ptr.Deref(v.Projected, corev1.ProjectedVolumeSource{}).Sources {
		if r := s.Secret; r != nil {
			n.add("Secret", r.Name, r.Optional)
		}
		if r := s.ConfigMap; r != nil {
			n.add("ConfigMap", r.Name, r.Optional)
		}
	}
}
