//go:build openstack && linux

package harness

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/ping"
)

// Ping pings an address while during runs, and returns the result.
func Ping(t *testing.T, address string, during func()) ping.Result {
	t.Helper()
	came, err := ping.During(address, during)
	if err != nil {
		t.Fatal(err)
	}
	return came
}
