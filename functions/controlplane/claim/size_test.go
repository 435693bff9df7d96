package claim

import (
	"testing"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
)

// TestSizes checks that sizes are ordered, and that every cluster can reach a quorum.
func TestSizes(t *testing.T) {
	order := []string{
		controlplanev1.SizeDevelopment, controlplanev1.SizeSmall, controlplanev1.SizeMedium, controlplanev1.SizeLarge,
	}
	if len(sizes) != len(order) {
		t.Errorf("%d sizes, want %d", len(sizes), len(order))
	}
	numbers := func(s Size) []int64 {
		return []int64{
			int64(s.API), int64(s.Database), int64(s.MaxScale), int64(s.Messaging), int64(s.Locks), int64(s.Cache), int64(s.Companion), s.Connections,
			Quantity(s.DatabaseStorage).Value(), Quantity(s.MessagingStorage).Value(), Quantity(s.LocksStorage).Value(), Quantity(s.CacheMemory).Value(),
			s.APIResources.Requests.Memory.Value(), s.DatabaseResources.Requests.Memory.Value(), s.DatabaseResources.Requests.CPU.MilliValue(),
			s.MessagingResources.Requests.Memory.Value(), s.LocksResources.Requests.Memory.Value(),
			s.ProxyResources.Requests.Memory.Value(),
		}
	}
	for i, name := range order {
		s := sizes[name]
		if s.Database%2 == 0 || s.Messaging%2 == 0 {
			t.Errorf("%s: an even cluster (%d, %d)", name, s.Database, s.Messaging)
		}
		if i == 0 {
			continue
		}
		small, large := numbers(sizes[order[i-1]]), numbers(s)
		for n := range large {
			if large[n] < small[n] {
				t.Errorf("number %d of %s is less than the one of %s: %d, %d", n, name, order[i-1], large[n], small[n])
			}
		}
	}
}

// TestSizesSuffice checks that the defaults of each size meet the minimums of programs.
func TestSizesSuffice(t *testing.T) {
	for name, s := range sizes {
		for p, storage := range map[minimum.Program]string{
			minimum.MariaDB: s.DatabaseStorage, minimum.RabbitMQ: s.MessagingStorage, minimum.Valkey: s.LocksStorage, minimum.OVNDatabase: s.NetworksStorage,
		} {
			if Quantity(storage).Value() < minimum.Storage(p) {
				t.Errorf("size %s gives %s %s", name, p, storage)
			}
		}
		if Quantity(s.CacheMemory).Value() < minimum.Memory(minimum.Memcached) {
			t.Errorf("size %s gives memcached %s", name, s.CacheMemory)
		}
	}
}
