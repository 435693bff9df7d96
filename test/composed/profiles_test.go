package composed

import (
	"maps"
	"slices"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestProcessesHaveProfiles checks that the requests of each process that users reach have a row in internal/openstack/capacity. The API of
// a service without a queue may have the profile of an ordinary request: it makes no calls.
func TestProcessesHaveProfiles(t *testing.T) {
	const app, process = "app.kubernetes.io/name", "app.kubernetes.io/component"
	found := map[string]bool{}
	for _, c := range clouds(t) {
		queues := map[string]bool{}
		for _, o := range c.objects {
			if o.Kind == "Vhost" {
				queues[o.text("metadata", "labels", app)] = true
			}
		}
		for _, o := range c.objects {
			service, name := o.text("spec", "selector", app), o.text("spec", "selector", process)
			if o.Kind != "Service" || !slices.Contains(release.Services(), service) || name == capacity.API && !queues[service] {
				continue
			}
			found[service+" "+name] = true
			if !capacity.Known(service, name) {
				t.Errorf("%s: the process %s of %s has no profile; add a row to internal/openstack/capacity/capacity.go", c.name, name, service)
			}
		}
	}
	for _, want := range []string{"heat api", "heat cfn", "nova api", "nova metadata"} {
		if !found[want] {
			t.Errorf("%s was not found in %v", want, slices.Sorted(maps.Keys(found)))
		}
	}
}
