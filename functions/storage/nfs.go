package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// nfsPrefix is the prefix of composed resource names of NFS.
const nfsPrefix = "nfs-"

// nfsPool is the pool of the NFS servers' export configuration; an object name cannot begin with a dot. Rook would create it with Ceph's
// defaults, which ignore the claim's failure domain and stretch mode.
const (
	nfsPool     = ".nfs"
	nfsPoolName = "builtin-nfs"
)

func (m *model) hasNFS() bool { return len(m.spec.NFS) > 0 }

// checkNFS rejects servers that could not start.
func (m *model) checkNFS() error {
	const longest = 63
	var errs []error
	desired := 0
	for i, n := range m.spec.NFS {
		field := fmt.Sprintf("spec.nfs[%d]", i)
		if m.isExternal() {
			errs = append(errs, invalid.Field(field, "NFS servers of an external Ceph cluster are run by its operator; remove it"))
		}
		if len(m.spec.Filesystems) == 0 && m.runsCeph() {
			errs = append(errs, invalid.Field(field, "there is no file system that it could serve; name one in spec.filesystems"))
		}
		// Rook sets the host name of each pod to this name, whose length Kubernetes limits.
		if host := m.instance + "-" + n.Name; len(host) > longest {
			errs = append(errs, invalid.Field(field+".name", "its servers would be called %s, which has %d characters of %d at most; choose a "+
				"shorter name for them, or for the claim", host, len(host), longest))
		}
		desired += int(n.Servers)
	}
	if nodes := len(m.spec.Nodes); *m.spec.Network.Host && nodes > 0 && desired >= nodes {
		errs = append(errs, invalid.Field("spec.nfs", "a node has one server, since all listen at the same port, and one is replaced by another "+
			"that runs before it ends: %s for %d of them are too few by %d; name more nodes, or want fewer servers", countNoun(nodes,
			"node"), desired,
			desired+1-nodes))
	}
	return errors.Join(errs...)
}

// nfs builds the servers, after the pool with their export configuration.
func nfs(m *model) ([]compose.Stage, error) {
	pool := compose.Stage{{Name: nfsPrefix + "pool", Retain: true, Object: rook.Pool(
		m.meta(nfsPoolName), nfsPool, "nfs", m.metadata(storagev1.Redundancy{}), rook.Quota{}, nil,
	)}}
	var servers compose.Stage
	for _, n := range m.spec.NFS {
		servers = append(servers, compose.Resource{Name: nfsPrefix + "servers-" + n.Name, Retain: true, Object: rook.NFS(
			m.meta(n.Name), n.Servers, cmp.Or(n.Resources, nfsResources), m.inOtherCluster(),
		)})
	}
	return []compose.Stage{pool, servers, m.deleteBeforeCluster(servers)}, nil
}

// inOtherCluster places NFS servers on different nodes: with the node's network all listen on the same port, which Rook does not declare in
// its pods, so that the scheduler does not separate them. With addresses of their own, a replaced server may share a node with its
// successor.
func (m *model) inOtherCluster() object.Map {
	out := m.across(rook.NFSApp, "rook_cluster", m.instance)
	term := object.Map{"topologyKey": hostLabel, "labelSelector": object.Map{"matchLabels": object.Map{"app": rook.NFSApp}}}
	if *m.spec.Network.Host {
		out["podAntiAffinity"] = object.Map{"requiredDuringSchedulingIgnoredDuringExecution": object.List{term}}
		return out
	}
	const most = 100
	out["podAntiAffinity"] = object.Map{"preferredDuringSchedulingIgnoredDuringExecution": object.List{
		object.Map{"weight": int64(most), "podAffinityTerm": term},
	}}
	return out
}

// nfsStatus returns the access data for NFS clients.
func (m *model) nfsStatus() []storagev1.NFSStatus {
	var out []storagev1.NFSStatus
	for _, n := range m.spec.NFS {
		reported := storagev1.NFSStatus{Name: n.Name}
		for i := range n.Servers {
			reported.Servers = append(reported.Servers, common.Hostname(fmt.Sprintf("%s.%s.svc", rook.NFSName(n.Name, i), m.instance)))
		}
		out = append(out, reported)
	}
	slices.SortFunc(out, func(a, b storagev1.NFSStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
