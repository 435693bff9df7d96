//go:build openstack && linux

package nova

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
)

// Aggregates lists the host aggregates.
func (n Nova) Aggregates(t *testing.T) []aggregates.Aggregate {
	t.Helper()
	page, err := aggregates.List(n.ServiceClient).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := aggregates.ExtractAggregates(page)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
