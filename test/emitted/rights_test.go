package emitted

import (
	"strings"
	"testing"

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
