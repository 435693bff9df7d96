package minimum_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
)

// TestEveryRowLimits checks that each row has a size, that the size itself is accepted, and that a byte less is not.
func TestEveryRowLimits(t *testing.T) {
	for _, p := range minimum.Programs() {
		memory, storage := minimum.Memory(p), minimum.Storage(p)
		if memory == 0 && storage == 0 {
			t.Errorf("%s: the row has no size", p)
		}
		for _, tc := range []struct {
			size  int64
			check func(int64) error
		}{
			{memory, func(n int64) error {
				return minimum.CheckMemory("spec.x", p, resource.NewQuantity(n, resource.BinarySI))
			}},
			{storage, func(n int64) error {
				return minimum.CheckStorage("spec.x", p, resource.NewQuantity(n, resource.BinarySI).String())
			}},
		} {
			if tc.size == 0 {
				continue
			}
			if err := tc.check(tc.size); err != nil {
				t.Errorf("%s: %v", p, err)
			}
			if err := tc.check(tc.size - 1); err == nil {
				t.Errorf("%s: %d bytes are accepted", p, tc.size-1)
			}
		}
	}
}

func TestMessagesNameMinimumAndRemedy(t *testing.T) {
	small := resource.MustParse("32Mi")
	got := []string{
		minimum.CheckLimits("spec.resources", minimum.MariaDB, &common.Resources{Limits: &common.ResourceAmounts{Memory: &small}}).Error(),
		minimum.CheckStorage("spec.storageSize", minimum.MariaDB, "1Mi").Error(),
	}
	want := []string{
		"spec.resources.limits.memory: must be at least 256Mi for MariaDB, not 32Mi: an empty member needs as much; set 256Mi or more, " +
			"or remove the field",
		"spec.storageSize: must be at least 1Gi for MariaDB, not 1Mi: an empty member needs as much; set 1Gi or more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAbsentSizesAreAccepted(t *testing.T) {
	for name, err := range map[string]error{
		"no resources": minimum.CheckLimits("spec", minimum.MariaDB, nil),
		"no limits":    minimum.CheckLimits("spec", minimum.MariaDB, &common.Resources{}),
		"no memory":    minimum.CheckLimits("spec", minimum.MariaDB, &common.Resources{Limits: &common.ResourceAmounts{}}),
		"no storage":   minimum.CheckStorage("spec", minimum.MariaDB, ""),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
