package operators

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reference is a dependency of a pod: an object, and keys of it.
type reference struct {
	resource schema.GroupVersionResource
	name     string
	keys     []string
}

// references returns the objects that a pod requires to start: mounted ones, and sources of its environment.
func references(pod *corev1.Pod) []reference {
	var out []reference
	for _, v := range pod.Spec.Volumes {
		out = append(out, ofVolume(v)...)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		out = append(out, ofContainer(c)...)
	}
	return out
}

func ofVolume(v corev1.Volume) []reference {
	var out []reference
	if s := v.Secret; s != nil {
		out = append(out, needs(secrets, s.SecretName, s.Optional, paths(s.Items)...)...)
	}
	if c := v.ConfigMap; c != nil {
		out = append(out, needs(configMaps, c.Name, c.Optional, paths(c.Items)...)...)
	}
	if v.Projected == nil {
		return out
	}
	for _, p := range v.Projected.Sources {
		if s := p.Secret; s != nil {
			out = append(out, needs(secrets, s.Name, s.Optional, paths(s.Items)...)...)
		}
		if c := p.ConfigMap; c != nil {
			out = append(out, needs(configMaps, c.Name, c.Optional, paths(c.Items)...)...)
		}
	}
	return out
}

func ofContainer(c corev1.Container) []reference {
	var out []reference
	for _, e := range c.EnvFrom {
		if s := e.SecretRef; s != nil {
			out = append(out, needs(secrets, s.Name, s.Optional)...)
		}
		if m := e.ConfigMapRef; m != nil {
			out = append(out, needs(configMaps, m.Name, m.Optional)...)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if s := e.ValueFrom.SecretKeyRef; s != nil {
			out = append(out, needs(secrets, s.Name, s.Optional, s.Key)...)
		}
		if m := e.ValueFrom.ConfigMapKeyRef; m != nil {
			out = append(out, needs(configMaps, m.Name, m.Optional, m.Key)...)
		}
	}
	return out
}

// needs returns a reference, unless it is optional.
func needs(resource schema.GroupVersionResource, name string, optional *bool, keys ...string) []reference {
	if name == "" || optional != nil && *optional {
		return nil
	}
	return []reference{{resource: resource, name: name, keys: keys}}
}

func paths(items []corev1.KeyToPath) []string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}
