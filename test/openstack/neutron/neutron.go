//go:build openstack && linux

package neutron

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// Neutron is a client of a Neutron at its internal address.
type Neutron struct {
	*gophercloud.ServiceClient
	cloud *clouds.Cloud
}

// Of returns a client of a cloud's Neutron.
func Of(t *testing.T, cloud *clouds.Cloud) Neutron {
	t.Helper()
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewNetworkV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	return Neutron{c, cloud}
}

// Ovn returns a column of a table of an OVN database, of all rows.
func (n Neutron) Ovn(t *testing.T, part, table, column string) []string {
	t.Helper()
	text, err := n.tool(t, part, "--format=json", "--data=json", "--columns="+column, "list", table)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var rows struct {
		Data [][]any `json:"data"`
	}
	_, body, _ := strings.Cut(text, "{")
	if err := json.Unmarshal([]byte("{"+body), &rows); err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	out := make([]string, len(rows.Data))
	for i, row := range rows.Data {
		out[i] = fmt.Sprint(row[0])
	}
	slices.Sort(out)
	return out
}

// tool runs OVN's command-line tool for a database, at all of its members.
func (n Neutron) tool(t *testing.T, part string, command ...string) (string, error) {
	t.Helper()
	tool, port := "ovn-nbctl", ovnv1.NorthboundPort
	if part == "southbound" {
		tool, port = "ovn-sbctl", ovnv1.SouthboundPort
	}
	set := &appsv1.StatefulSet{}
	if err := n.cloud.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: n.cloud.Namespace, Name: ovnv1.Name + "-" + part}, set); err != nil {
		t.Fatal(err)
	}
	var at []string
	for i := range *set.Spec.Replicas {
		at = append(at, fmt.Sprintf("ssl:%[1]s-%[2]d.%[1]s.%[3]s.svc.cluster.local:%[4]d", ovnv1.Name+"-"+part, i, n.cloud.Namespace, port))
	}
	const keys = "/etc/ovn/tls/"
	return n.cloud.Cluster.Exec(context.Background(), n.cloud.Namespace, ovnv1.Name+"-"+part+"-0", append([]string{
		tool, "--timeout=60", "--db=" + strings.Join(at, ","), "-p", keys + "tls.key", "-c", keys + "tls.crt", "-C", keys + "ca.crt",
	}, command...)...)
}
