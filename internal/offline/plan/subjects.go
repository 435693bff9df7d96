package plan

import (
	"slices"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

func serversOnly(fact) []subject { return []subject{{name: servers}} }

// service returns subjects with the name of a service, of the control planes that a claim belongs to.
func service(f fact, names ...string) []subject {
	id := f.pair.id
	if id.Kind == hypervisorv1.GroupVersionKind.Kind {
		r := f.pair.after
		if r == nil {
			r = f.pair.before
		}
		spec := r.Spec()
		id = preview.Identity{
			Kind: controlplanev1.GroupVersionKind.Kind, Namespace: text(spec, "controlPlaneRef", "namespace"),
			Name: text(spec, "controlPlaneRef", "name"),
		}
		if id.Namespace == "" {
			id.Namespace = f.pair.id.Namespace
		}
	}
	var out []subject
	for _, name := range names {
		out = append(out, subject{id, name})
	}
	return out
}

func computeService(f fact) []subject { return service(f, "nova") }
func lockUsers(f fact) []subject      { return service(f, "cinder") }

// cacheUsers returns the services that use a cache: Keystone has its own.
func cacheUsers(f fact) []subject {
	if f.restart.Name == "memcached-keystone" {
		return service(f, "keystone")
	}
	return slices.DeleteFunc(f.all(), func(s subject) bool { return s.name == "keystone" || s.name == "horizon" })
}

// cacheSessions returns the services with sessions in a cache.
func cacheSessions(f fact) []subject {
	if f.restart.Name == "memcached-keystone" {
		return nil
	}
	return service(f, "horizon")
}

// databaseUsers returns the services with a database in a server, and queueUsers those with a virtual host in a queue.
func databaseUsers(f fact) []subject { return f.users("Database", "mariaDbRef") }
func queueUsers(f fact) []subject    { return f.users("Vhost", "rabbitmqClusterReference") }

// users returns the services of the objects of a kind that refer to the object.
func (f fact) users(kind, reference string) []subject {
	var name string
	if f.restart != nil {
		name = f.restart.Name
	} else {
		name = f.change.Name
	}
	var out []subject
	for _, o := range objects(f.pair.after) {
		user := f.scene.services[f.pair.id][o.Owner]
		if o.Kind != kind || user == "" || text(o.Tree(), "spec", reference, "name") != name {
			continue
		}
		if s := (subject{f.pair.id, user}); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// storageUsers returns the storage of a claim, the services that refer to it, and servers, if pools do.
func storageUsers(f fact) []subject {
	out := []subject{{f.pair.id, storage}}
	for _, p := range f.scene.pairs {
		r := p.after
		if r == nil || p.id.Kind == storagev1.GroupVersionKind.Kind || !refersTo(r.Spec(), f.pair.id) {
			continue
		}
		if p.id.Kind == hypervisorv1.GroupVersionKind.Kind {
			out = append(out, subject{name: servers})
		}
		services, _ := r.Spec()["services"].(map[string]any)
		for name, spec := range services {
			if refersTo(spec, f.pair.id) {
				out = append(out, subject{p.id, name})
			}
		}
	}
	return out
}

// refersTo reports whether a spec contains a reference to a StorageCluster.
func refersTo(spec any, id preview.Identity) bool {
	switch v := spec.(type) {
	case map[string]any:
		ref, ok := v["clusterRef"].(map[string]any)
		if ok && ref["name"] == id.Name && (ref["namespace"] == nil || ref["namespace"] == id.Namespace) {
			return true
		}
		for _, e := range v {
			if refersTo(e, id) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return refersTo(e, id) })
	}
	return false
}

// dataOwners returns the owner of an object with data; in a StorageCluster, its users, too.
func dataOwners(f fact) []subject {
	if f.pair.id.Kind == storagev1.GroupVersionKind.Kind {
		return storageUsers(f)
	}
	return f.owner()
}
