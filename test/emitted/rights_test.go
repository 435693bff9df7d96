package emitted

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestRightsAreThePlatforms checks that pods with a token of the Kubernetes API run images of the platform, with the
// platform's pull secrets, even on a platform and with claims that configure others.
func TestRightsAreThePlatforms(t *testing.T) {
	observed := 0
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
				observed++
				if image := p.Containers[0].Image; len(p.Containers) != 1 || !strings.HasPrefix(image, want) {
					t.Errorf("%s: %s has rights and runs %s", c.name, o.Name, image)
				}
				if len(p.ImagePullSecrets) > 1 || len(p.ImagePullSecrets) == 1 && p.ImagePullSecrets[0].Name != secret {
					t.Errorf("%s: %s has rights and pulls with %v", c.name, o.Name, p.ImagePullSecrets)
				}
			}
		}
	}
	if observed != 2 {
		t.Errorf("%d pods with rights, want the companion on two platforms", observed)
	}
}

// pods returns all pod specs in an object, at any depth.
func pods(v any) []corev1.PodSpec {
	var out []corev1.PodSpec
	switch v := v.(type) {
	case map[string]any:
		if containers, _ := v["containers"].([]any); len(containers) > 0 {
			data, err := json.Marshal(v)
			p := corev1.PodSpec{}
			if err == nil && json.Unmarshal(data, &p) == nil {
				return []corev1.PodSpec{p}
			}
		}
		for field, member := range v {
			if field != "override" { // A patch of an operator's pods.
				out = append(out, pods(member)...)
			}
		}
	case []any:
		for _, item := range v {
			out = append(out, pods(item)...)
		}
	}
	return out
}
