//go:build openstack && linux

package openstack

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/ping"
)

// pinged pings an address while during runs, and returns the result.
func pinged(t *testing.T, address string, during func()) ping.Result {
	t.Helper()
	came, err := ping.During(address, during)
	if err != nil {
		t.Fatal(err)
	}
	return came
}
