package storage

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// ca is the name of the cluster's own authority: its issuer, its certificate and their Secret.
const ca = "gateway-ca"

func filesystems(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, f := range m.spec.Filesystems {
		r := f.DataPool.Redundancy
		stage = append(stage, compose.Resource{Name: filesystemPrefix + f.Name, Retain: true, Object: rook.Filesystem(
			m.meta(f.Name), m.metadata(r), m.redundancy(r), f.MetadataServers, f.Resources,
			m.across("rook-ceph-mds", "rook_file_system", f.Name),
		)})
	}
	return []compose.Stage{stage, m.deleteBeforeCluster(stage)}, nil
}

// deleteBeforeCluster orders the deletion of objects with data before the deletion of the cluster: a request to delete the cluster restarts
// Rook's reconciliation, and Rook cannot complete an object store whose deletion this has interrupted (observed with 1.18.8).
func (m *model) deleteBeforeCluster(stage compose.Stage) compose.Stage {
	var out compose.Stage
	for _, r := range stage {
		out = append(out, usage.Of(m.meta(r.Name+"-uses-"+clusterResource), r.Name, clusterResource, "it is deleted before the cluster is"))
	}
	return out
}

func (m *model) hasObjects() bool { return len(m.spec.ObjectStores) > 0 }

func (m *model) issuer() common.IssuerReference {
	return common.IssuerReference{Name: ca, Kind: "Issuer"}
}

// authority issues the certificates of object stores. It outlives the claim, as they do.
func authority(m *model) ([]compose.Stage, error) {
	return []compose.Stage{
		{{Name: "self-signed", Retain: true, Object: certificate.SelfSigned(m.meta("self-signed"))}},
		{{Name: ca, Retain: true, Object: certificate.Authority(m.meta(ca), "self-signed")}},
		{{Name: ca + "-issuer", Retain: true, Object: certificate.CAIssuer(m.meta(ca), ca)}},
	}, nil
}

// objectStores builds gateways with TLS. A new one with users of Keystone follows its Keystone credentials.
func objectStores(m *model) ([]compose.Stage, error) {
	var certificates, stores compose.Stage
	for _, o := range m.spec.ObjectStores {
		name := rook.GatewayName(o.Name)
		certificates = append(certificates, compose.Resource{
			Name: "certificate-" + o.Name, Retain: true, Object: certificate.Server(m.meta(name), m.issuer(), m.host(o.Name)),
		})
		r := o.DataPool.Redundancy
		store := compose.Resource{Name: objectsPrefix + o.Name, Retain: true, Object: rook.ObjectStore(m.meta(o.Name), rook.Store{
			Metadata: m.metadata(r), Data: m.redundancy(r), Gateways: o.Gateways, Certificate: name, Resources: o.Resources,
			Placement: m.across("rook-ceph-rgw", "rook_object_store", o.Name), Keystone: m.login(o),
			KeystoneRemoved: m.keystoneRemoved(o.Name),
		})}
		if o.Keystone != nil {
			store.After = []string{m.logins.Resource(keystonePrefix + o.Name)}
		}
		stores = append(stores, store)
	}
	return []compose.Stage{certificates, stores, append(m.deleteBeforeCluster(stores), m.exposed()...)}, nil
}
