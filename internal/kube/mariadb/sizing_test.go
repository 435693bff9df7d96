package mariadb

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

func amount(s string) *resource.Quantity { return new(resource.MustParse(s)) }

// TestBufferPool tests the values of the four sizes, and interpolation between and beyond them.
func TestBufferPool(t *testing.T) {
	for memory, want := range map[string]string{
		"1Gi": "256M", "2Gi": "1G", "8Gi": "5G", "32Gi": "22G", // the sizes
		"512Mi": "128M", "256Mi": "64M", "16Mi": "8M", "3Gi": "1664M", "16Gi": "10880M", "64Gi": "45696M", "2000M": "896M",
		"576Mi": "128M", "0": "8M", "1536Mi": "640M", "1535Mi": "512M", "511Mi": "127M", "42Mi": "10M", "2Ti": "1450G",
	} {
		if got := BufferPool(amount(memory).Value()); got != want {
			t.Errorf("BufferPool(%s) = %s, want %s", memory, got, want)
		}
	}
	last := resource.Quantity{}
	for mib := int64(16); mib < 512<<10; mib += 100 {
		pool := resource.MustParse(BufferPool(mib*mebibyte) + "i")
		if pool.Cmp(last) < 0 || pool.Value() > mib*mebibyte*3/4 {
			t.Fatalf("%d MiB of memory give a pool of %s, and less memory gave %s", mib, pool.String(), last.String())
		}
		last = pool
	}
}

func TestMemory(t *testing.T) {
	request, limit := &common.ResourceAmounts{Memory: amount("1Gi")}, &common.ResourceAmounts{Memory: amount("2Gi")}
	for name, tc := range map[string]struct {
		reason string
		of     *common.Resources
		want   string
	}{
		"limit":   {"The limit takes precedence.", &common.Resources{Requests: request, Limits: limit}, "2Gi"},
		"request": {"Without a limit, the request is used.", &common.Resources{Requests: request, Limits: &common.ResourceAmounts{}}, "1Gi"},
		"cpu":     {"Memory is not set.", &common.Resources{Requests: &common.ResourceAmounts{CPU: amount("1")}}, "0"},
		"none":    {"Resources are not set.", nil, "0"},
	} {
		if got := Memory(tc.of); got != amount(tc.want).Value() {
			t.Errorf("%s: %s got %d, want %s", name, tc.reason, got, tc.want)
		}
	}
}

func TestSettingsFollowResources(t *testing.T) {
	cpu := func(s string) *common.Resources {
		return &common.Resources{Requests: &common.ResourceAmounts{CPU: amount(s)}}
	}
	for name, tc := range map[string]struct{ got, want any }{
		"connections":            {Connections(1024, 1<<30), int64(1024)},
		"connections, no memory": {Connections(4096, 256<<20), int64(1024)},
		"connections, least":     {Connections(4096, 1<<20), int64(100)},
		"connections, unknown":   {Connections(4096, 0), int64(4096)},
		"cache of 10Gi":          {GaleraCache(10 << 30), "128M"},
		"cache of 100Gi":         {GaleraCache(100 << 30), "1G"},
		"cache of 10Ti":          {GaleraCache(10 << 40), "4G"},
		"threads of half a core": {Threads(cpu("500m")), int64(2)},
		"threads of one core":    {Threads(cpu("1")), int64(2)},
		"threads of a bit more":  {Threads(cpu("1001m")), int64(4)},
		"threads of four cores":  {Threads(cpu("4")), int64(8)},
		"threads of none":        {Threads(cpu("0")), int64(2)},
		"threads of eight cores": {Threads(cpu("8")), int64(16)},
		"threads of many":        {Threads(cpu("64")), int64(16)},
		"threads of unknown CPU": {Threads(nil), int64(2)},
		"backup of nothing":      {BackupTimeout(0), time.Hour},
		"backup of 32Gi":         {BackupTimeout(32 << 30), 2 * time.Hour},
		"backup of a byte more":  {BackupTimeout(32<<30 + 1), 3 * time.Hour},
		"backup of 10Gi":         {BackupTimeout(10 << 30), 2 * time.Hour},
		"backup of 500Gi":        {BackupTimeout(500 << 30), 17 * time.Hour},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}
