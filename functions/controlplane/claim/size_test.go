package claim

import (
	"reflect"
	"testing"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
)

// TestSizes checks that no amount of a size is less than the one of the next smaller size, and that every cluster can reach a quorum.
func TestSizes(t *testing.T) {
	order := []string{
		controlplanev1.SizeDevelopment, controlplanev1.SizeSmall, controlplanev1.SizeMedium, controlplanev1.SizeLarge,
	}
	if len(sizes) != len(order) {
		t.Errorf("%d sizes, want %d", len(sizes), len(order))
	}
	for i, name := range order {
		s := sizes[name]
		if s.Database%2 == 0 || s.Messaging%2 == 0 || s.Networks%2 == 0 {
			t.Errorf("%s: an even cluster (%d, %d, %d)", name, s.Database, s.Messaging, s.Networks)
		}
		if i == 0 {
			continue
		}
		small, large := amounts(t, sizes[order[i-1]]), amounts(t, s)
		for field := range large {
			if large[field] < small[field] {
				t.Errorf("%s of %s is less than the one of %s: %d, %d", field, name, order[i-1], large[field], small[field])
			}
		}
	}
}

// amounts returns all fields of a size as numbers.
func amounts(t *testing.T, s Size) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch field := v.Field(i).Interface().(type) {
		case int32:
			out[name] = int64(field)
		case int64:
			out[name] = field
		case string:
			out[name] = Quantity(field).Value()
		case *common.Resources:
			out[name+" CPU request"] = field.Requests.CPU.MilliValue()
			out[name+" memory request"] = field.Requests.Memory.Value()
			out[name+" memory limit"] = field.Limits.Memory.Value()
		default:
			t.Fatalf("%s has type %T, which this test does not compare", name, field)
		}
	}
	return out
}

// TestSizeDefaultsMeetMinimums checks that the defaults of each size meet the minimums of programs.
func TestSizeDefaultsMeetMinimums(t *testing.T) {
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
