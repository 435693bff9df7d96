package emitted

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/credentialrotation"
	"github.com/c5c3/crossplane-cobaltcore/companion/keyrepository"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// maxWatchedSecrets is the maximum number of Secrets that the companion of a control plane watches, each with a watch
// (docs/design/0034-secrets-are-watched-by-name.md).
const maxWatchedSecrets = 100

// TestCompanionWatchesLimitedSecrets checks the number of watches of each companion. A Secret that several controllers watch has one watch
// of each.
func TestCompanionWatchesLimitedSecrets(t *testing.T) {
	most := 0
	for _, c := range cases(t) {
		// Names by namespace and kind: each controller has watches of its own.
		watched := map[string]map[string]map[string]bool{}
		for _, o := range c.Objects {
			for _, name := range watchedBy(t, o.Kind, body(encoded.Of(o.Manifest)).Map()) {
				if watched[o.Namespace] == nil {
					watched[o.Namespace] = map[string]map[string]bool{}
				}
				if watched[o.Namespace][o.Kind] == nil {
					watched[o.Namespace][o.Kind] = map[string]bool{}
				}
				watched[o.Namespace][o.Kind][name] = true
			}
		}
		for namespace, kinds := range watched {
			watches, secrets := 0, map[string]bool{}
			for _, names := range kinds {
				watches += len(names)
				maps.Copy(secrets, names)
			}
			t.Logf("%s, %s: %d watches of %d Secrets", c.name, namespace, watches, len(secrets))
			if most = max(most, watches); watches > maxWatchedSecrets {
				t.Errorf("%s: the companion in %s has %d watches, %d at most: %v", c.name, namespace, watches, maxWatchedSecrets,
					slices.Sorted(maps.Keys(secrets)))
			}
		}
	}
	if most < maxWatchedSecrets/2 {
		t.Errorf("the largest number of watches is %d, half of the limit of %d: lower the limit", most, maxWatchedSecrets)
	}
}

// watchedBy returns the Secrets that the companion watches for an object.
func watchedBy(t *testing.T, kind string, o map[string]any) []string {
	t.Helper()
	read := func(into any) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, into); err != nil {
			t.Fatal(err)
		}
	}
	switch kind {
	case "KeyRepository":
		r := &openstackv1.KeyRepository{}
		read(r)
		return keyrepository.WatchedSecrets(r)
	case "CredentialRotation":
		r := &c5c3v1.CredentialRotation{}
		read(r)
		return credentialrotation.WatchedSecrets(r)
	case "SecretAggregate":
		a := &c5c3v1.SecretAggregate{}
		read(a)
		return secretaggregate.WatchedSecrets(a)
	}
	return nil
}
