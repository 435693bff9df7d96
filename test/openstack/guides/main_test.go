//go:build openstack && linux

package guides

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
