package nodeissuer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestFullStatusFitsIntoEtcd verifies that an issuer with the maximum number of addresses can still be written, with long names and
// addresses: https://etcd.io/docs/v3.6/dev-guide/limit/. The API server records the owner of each entry of the list in metadata.managedFields.
func TestFullStatusFitsIntoEtcd(t *testing.T) {
	const limit = 3 << 19 // 1.5 MiB
	issuer := &c5c3v1.NodeIssuer{}
	owners := 0
	for i := range maxRecords {
		a := c5c3v1.NodeAddress{
			Address: fmt.Sprintf("fd00:1234:5678:9abc:def0:1234:5678:%04x", i), Node: common.ObjectName(strings.Repeat("n", 63)),
			ExpiresAt: metav1.Time{Time: time.Unix(0, 0)},
		}
		issuer.Status.Addresses = append(issuer.Status.Addresses, a)
		owners += len(fmt.Sprintf(`"k:{\"address\":%q}":{".":{},"f:address":{},"f:expiresAt":{},"f:node":{}},`, a.Address))
	}
	data, err := json.Marshal(issuer)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(data) + owners; size > limit {
		t.Errorf("a full NodeIssuer has %d bytes, and etcd accepts %d", size, limit)
	}
}
