package databasesync

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reference is an object that a pod cannot start without.
type reference struct{ kind, name string }

// references are the Secrets and ConfigMaps that a pod needs, sorted. What it can do without is left out.
func references(pod *corev1.PodSpec) []reference {
	found := needed{}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		found.environment(&c)
	}
	for i := range pod.Volumes {
		found.volume(&pod.Volumes[i].VolumeSource)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b reference) int {
		// Secrets first: they are what is late.
		return cmp.Or(cmp.Compare(b.kind, a.kind), cmp.Compare(a.name, b.name))
	})
}

type needed map[reference]bool

func (n needed) add(kind, name string, optional *bool) {
	if name != "" && !ptr.Deref(optional, false) {
		n[reference{kind, name}] = true
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

// missing gives the references that do not exist. Only metadata is read.
func missing(ctx context.Context, reader client.Reader, namespace string, refs []reference) ([]string, error) {
	var out []string
	for _, r := range refs {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: r.kind}}
		switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.name}, o); {
		case apierrors.IsNotFound(err):
			out = append(out, r.kind+" "+r.name)
		case err != nil:
			return nil, fmt.Errorf("cannot look for %s %s: %w", r.kind, r.name, err)
		}
	}
	return out, nil
}
