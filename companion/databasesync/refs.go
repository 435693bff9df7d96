package databasesync

import (
	"cmp"
	"context"
	"fmt"
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
	found := map[reference]bool{}
	add := func(kind, name string, optional *bool) {
		if name != "" && !ptr.Deref(optional, false) {
			found[reference{kind, name}] = true
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, e := range c.EnvFrom {
			if r := e.SecretRef; r != nil {
				add("Secret", r.Name, r.Optional)
			}
			if r := e.ConfigMapRef; r != nil {
				add("ConfigMap", r.Name, r.Optional)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				add("Secret", r.Name, r.Optional)
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				add("ConfigMap", r.Name, r.Optional)
			}
		}
	}
	for _, v := range pod.Volumes {
		if s := v.Secret; s != nil {
			add("Secret", s.SecretName, s.Optional)
		}
		if c := v.ConfigMap; c != nil {
			add("ConfigMap", c.Name, c.Optional)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if r := s.Secret; r != nil {
				add("Secret", r.Name, r.Optional)
			}
			if r := s.ConfigMap; r != nil {
				add("ConfigMap", r.Name, r.Optional)
			}
		}
	}
	out := make([]reference, 0, len(found))
	for r := range found {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b reference) int {
		if a.kind != b.kind {
			return cmp.Compare(b.kind, a.kind) // Secrets first: they are what is late.
		}
		return cmp.Compare(a.name, b.name)
	})
	return out
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
