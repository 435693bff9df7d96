//go:build node && linux

package node_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// projectNamespace is the namespace of the example of networks as code (docs/networks-as-code.md), webPassword the
// password of a member of its project.
const (
	projectNamespace = "acme-web"
	webPassword      = "password-of-the-web-shop"
)

// testNetworks checks that the objects of examples/networks are created in Neutron, with the login of a member of the
// project, and deleted again.
func testNetworks(ctx context.Context, t *testing.T, namespace string, c *cloud) {
	neutron, err := c.neutron()
	if err != nil {
		t.Fatal(err)
	}
	prepareNetworks(ctx, t, namespace, c, neutron)
	objects := exampleObjects(t, "networks/project.yaml")
	for _, o := range objects {
		apply(ctx, t, o)
	}
	available(ctx, t, objects)

	pages, err := floatingips.List(neutron, floatingips.ListOpts{}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].FixedIP != "192.0.2.10" {
		t.Errorf("floating IPs %+v, want one that leads to 192.0.2.10", all)
	}

	want := []string{"egress  0-0", "ingress icmp 0-0", "ingress tcp 443-443"}
	checkRules(ctx, t, neutron, want)
	group := objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "SecurityGroup" })].DeepCopy()
	const path = "spec.resource.rules"
	listed, _, err := unstructured.NestedSlice(group.Object, "spec", "resource", "rules")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	listed = append([]any{map[string]any{
		"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "portRange": map[string]any{"min": int64(80), "max": int64(80)},
	}}, listed...)
	if err := unstructured.SetNestedSlice(group.Object, listed, "spec", "resource", "rules"); err != nil {
		t.Fatal(err)
	}
	apply(ctx, t, group)
	checkRules(ctx, t, neutron, append(want, "ingress tcp 80-80"))

	deleteObjects(ctx, t, objects)
	if err := cluster.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: projectNamespace}}); err != nil {
		t.Error(err)
	}
}

// checkRules waits until the security group web has these rules and no others.
func checkRules(ctx context.Context, t *testing.T, neutron *gophercloud.ServiceClient, want []string) {
	t.Helper()
	group := &unstructured.Unstructured{}
	group.SetAPIVersion(korc.APIVersion)
	group.SetKind("SecurityGroup")
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: projectNamespace, Name: "web"}, group); err != nil {
		t.Fatal(err)
	}
	id, _, _ := unstructured.NestedString(group.Object, "status", "id")
	eventually(ctx, t, 2*time.Minute, func() error {
		pages, err := rules.List(neutron, rules.ListOpts{SecGroupID: id}).AllPages(ctx)
		if err != nil {
			return err
		}
		all, err := rules.ExtractRules(pages)
		if err != nil {
			return err
		}
		var got []string
		for _, r := range all {
			got = append(got, fmt.Sprintf("%s %s %d-%d", r.Direction, r.Protocol, r.PortRangeMin, r.PortRangeMax))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("the rules of the security group (-want +got):\n%s", diff)
		}
		return nil
	})
}

// prepareNetworks creates the prerequisites: an external network, a project with a member, a namespace with the
// member's login, and, instead of a gateway, a route from K-ORC to Neutron.
func prepareNetworks(ctx context.Context, t *testing.T, namespace string, c *cloud, neutron *gophercloud.ServiceClient) {
	t.Helper()
	outside, err := networks.Create(ctx, neutron, external.CreateOptsExt{
		CreateOptsBuilder: networks.CreateOpts{Name: "outside"}, External: new(true),
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnets.Create(ctx, neutron, subnets.CreateOpts{
		NetworkID: outside.ID, Name: "outside", CIDR: "198.51.100.0/24", IPVersion: gophercloud.IPv4, EnableDHCP: new(false),
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	project, err := projects.Create(ctx, c.identity, projects.CreateOpts{Name: "web"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	user, err := users.Create(ctx, c.identity, users.CreateOpts{Name: "web", Password: webPassword}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := roles.List(c.identity, roles.ListOpts{Name: "member"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	member, err := roles.ExtractRoles(pages)
	if err != nil || len(member) != 1 {
		t.Fatalf("roles called member: %v, %v", member, err)
	}
	if err := roles.Assign(ctx, c.identity, member[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	port := intstr.FromInt32(9696)
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: projectNamespace}},
		&networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "korc"},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "neutron"}},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{
					From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{corev1.LabelMetadataName: korc.Namespace},
					}}},
					Ports: []networkingv1.NetworkPolicyPort{{Port: &port}},
				}},
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			},
		},
	} {
		if err := cluster.Client.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	secretIn(ctx, t, projectNamespace, "web", fmt.Sprintf(`clouds:
  web:
    auth:
      auth_url: %s
      username: web
      password: %q
      user_domain_name: Default
      project_name: web
      project_domain_name: Default
    identity_api_version: 3
    interface: internal
    endpoint_type: internal
`, c.url, webPassword), secret(ctx, t, namespace, "keystone-tls")["ca.crt"])
}
