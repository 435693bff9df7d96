//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// Pods of Neutron and of OVN.
const (
	neutronPods    = "app.kubernetes.io/name=neutron,app.kubernetes.io/component=api"
	ovnPods        = "app.kubernetes.io/name=ovn,app.kubernetes.io/component="
	northboundPods = ovnPods + "northbound"
	southboundPods = ovnPods + "southbound"
	northdPods     = ovnPods + "northd"
)

// Requests to Neutron: the first one needs only its database, the second one also OVN.
const (
	listNetworks = "list networks"
	makeNetwork  = "make a network"
)

// networkFaults are the faults of Neutron's processes and of OVN's databases.
var networkFaults = []fault{
	{name: "a pod of Neutron's API is deleted", strike: remove(neutronPods, 1, nil), lossless: true},
	{name: "a pod of Neutron's API is killed", strike: remove(neutronPods, 1, new(int64))},
	{name: "the processes of a pod of Neutron's API crash", strike: crash(neutronPods)},
	{name: "the leader of OVN's northbound database is killed", strike: killLeader("ovn-northbound"), loses: []string{makeNetwork}},
	{name: "the leader of OVN's southbound database is killed", strike: killLeader("ovn-southbound"), lossless: true},
	{name: "all members of OVN's southbound database are killed at once", strike: remove(southboundPods, 0, new(int64)), lossless: true},
	// Requests that write wait for minutes, and each pod of Neutron here has one worker, which is blocked meanwhile.
	// Nova calls Neutron for every server.
	{
		name: "all members of OVN's northbound database are killed at once", strike: remove(northboundPods, 0, new(int64)),
		loses: []string{makeNetwork, listNetworks, listMachines, makeMachine, lookAtScreen, readMetadataRequest},
	},
	{name: "both northd are killed", strike: remove(northdPods, 0, new(int64)), lossless: true},
}

// killLeader kills the leader of one of OVN's databases.
func killLeader(name string) func(context.Context, *broken) error {
	return func(ctx context.Context, b *broken) error {
		raft := &unstructured.Unstructured{}
		raft.SetAPIVersion(c5c3v1.GroupVersion.String())
		raft.SetKind("RaftCluster")
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, raft); err != nil {
			return err
		}
		leader, _, err := unstructured.NestedString(raft.Object, "status", "leader")
		if leader == "" {
			return errors.Join(err, fmt.Errorf("%s has no leader, according to its members", name))
		}
		return remove(appsv1.StatefulSetPodNameLabel+"="+leader, 1, new(int64))(ctx, b)
	}
}

// neutron returns a client of the network service, by its address inside the cluster.
func (c *cloud) neutron() (*gophercloud.ServiceClient, error) {
	return openstack.NewNetworkV2(c.provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
}

// connect creates a permanent network, with a subnet and a port, and returns the requests to it.
func connect(ctx context.Context, t *testing.T, c *cloud) []request {
	t.Helper()
	started := time.Now()
	retained, err := c.network(ctx, "kept", "192.0.2.0/25")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a network, a subnet and a port are made within %.1f s", time.Since(started).Seconds())
	return []request{
		{listNetworks, func(ctx context.Context, c *cloud) error {
			client, err := c.neutron()
			if err != nil {
				return err
			}
			got, err := networks.Get(ctx, client, retained).Extract()
			if err == nil && len(got.Subnets) != 1 {
				err = fmt.Errorf("network %s has %d subnets, want 1", got.Name, len(got.Subnets))
			}
			return err
		}},
		{makeNetwork, func(ctx context.Context, c *cloud) error {
			id, err := c.network(ctx, "some", "192.0.2.128/25")
			if err != nil {
				return err
			}
			return c.disconnect(ctx, id)
		}},
	}
}

// network creates a network with a subnet and a port, and returns its ID.
func (c *cloud) network(ctx context.Context, name, addresses string) (id string, err error) {
	client, err := c.neutron()
	if err != nil {
		return "", err
	}
	created, err := networks.Create(ctx, client, networks.CreateOpts{Name: name}).Extract()
	if err != nil {
		return "", fmt.Errorf("cannot make a network: %w", err)
	}
	if _, err := subnets.Create(ctx, client, subnets.CreateOpts{
		NetworkID: created.ID, Name: name, CIDR: addresses, IPVersion: gophercloud.IPv4,
	}).Extract(); err != nil {
		return "", fmt.Errorf("cannot make a subnet: %w", err)
	}
	if _, err := ports.Create(ctx, client, ports.CreateOpts{NetworkID: created.ID, Name: name}).Extract(); err != nil {
		return "", fmt.Errorf("cannot make a port: %w", err)
	}
	return created.ID, nil
}

// disconnect deletes a network and its ports.
func (c *cloud) disconnect(ctx context.Context, id string) error {
	client, err := c.neutron()
	if err != nil {
		return err
	}
	pages, err := ports.List(client, ports.ListOpts{NetworkID: id}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := ports.ExtractPorts(pages)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := ports.Delete(ctx, client, p.ID).ExtractErr(); err != nil {
			return fmt.Errorf("cannot delete a port: %w", err)
		}
	}
	if err := networks.Delete(ctx, client, id).ExtractErr(); err != nil {
		return fmt.Errorf("cannot delete a network: %w", err)
	}
	return nil
}
