package emitted

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestRightsAreThePlatforms: a pod that gets a token of the Kubernetes API runs an image of the platform, with the platform's pull secrets, on
// a platform and with claims that name others.
func TestRightsAreThePlatforms(t *testing.T) {
	seen := 0
	for _, c := range cases(t) {
		if !strings.HasPrefix(c.name, "keystone on a ") {
			continue
		}
		want, secret := "ghcr.io/c5c3/", ""
		if strings.Contains(c.name, "rich") {
			want, secret = "registry.example.com/c5c3/", "platform-pull-platform"
		}
		for _, o := range c.Objects {
			for _, p := range pods(o.Manifest.AsMap()) {
				if !ptr.Deref(p.AutomountServiceAccountToken, true) {
					continue
				}
				seen++
				if image := p.Containers[0].Image; len(p.Containers) != 1 || !strings.HasPrefix(image, want) {
					t.Errorf("%s: %s has rights and runs %s", c.name, o.Name, image)
				}
				if len(p.ImagePullSecrets) > 1 || len(p.ImagePullSecrets) == 1 && p.ImagePullSecrets[0].Name != secret {
					t.Errorf("%s: %s has rights and pulls with %v", c.name, o.Name, p.ImagePullSecrets)
				}
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d pods with rights, want the companion on two platforms", seen)
	}
}

// TestScratchIsBounded proves that no pod fills the disk or the memory of its node: each of its directories there has a size, and a pod with
// directories on the disk requests storage for them.
func TestScratchIsBounded(t *testing.T) {
	directories, sizes := 0, map[string]bool{}
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			for _, p := range pods(o.Manifest.AsMap()) {
				onDisk := false
				for _, v := range p.Volumes {
					if v.EmptyDir == nil {
						continue
					}
					directories++
					onDisk = onDisk || v.EmptyDir.Medium == corev1.StorageMediumDefault
					if v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
						t.Errorf("%s: %s %s: emptyDir %s has no sizeLimit", c.name, o.Kind, o.Name, v.Name)
						continue
					}
					sizes[v.EmptyDir.SizeLimit.String()] = true
				}
				r := p.Containers[0].Resources
				if _, ok := r.Requests[corev1.ResourceEphemeralStorage]; onDisk && !ok && r.Limits.StorageEphemeral().IsZero() {
					t.Errorf("%s: %s %s: container %s requests no ephemeral storage", c.name, o.Kind, o.Name, p.Containers[0].Name)
				}
				for _, container := range p.Containers {
					limit, limited := container.Resources.Limits[corev1.ResourceEphemeralStorage]
					if request := container.Resources.Requests[corev1.ResourceEphemeralStorage]; limited && request.Cmp(limit) > 0 {
						t.Errorf("%s: %s %s: container %s requests more ephemeral storage than its limit", c.name, o.Kind, o.Name, container.Name)
					}
				}
			}
		}
	}
	// The default, Cinder's conversion, Horizon's assets, and what is in memory.
	for _, size := range []string{"1Gi", "50Gi", "512Mi", "16Mi"} {
		if !sizes[size] {
			t.Errorf("no directory of %s among %d", size, directories)
		}
	}
}

// pods are all pod specs in an object, however deep they lie.
func pods(v any) []corev1.PodSpec {
	var out []corev1.PodSpec
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["containers"].([]any); ok {
			data, err := json.Marshal(v)
			p := corev1.PodSpec{}
			if err == nil && json.Unmarshal(data, &p) == nil {
				return []corev1.PodSpec{p}
			}
		}
		for _, member := range v {
			out = append(out, pods(member)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, pods(item)...)
		}
	}
	return out
}
