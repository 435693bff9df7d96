package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// catalogGroup is the API group of K-ORC, which logs in to Keystone to delete the resources of its objects.
const catalogGroup = "openstack.k-orc.cloud"

// ordered are the kinds of a control plane with a deletion order, except KeystoneKind, which is always in the
// management cluster.
var ordered = func() []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MariaDB"},
		{Version: "v1", Kind: "Namespace"},
	}
	for _, kind := range []string{"Domain", "Project", "Role", "User", "Service", "Endpoint"} {
		out = append(out, schema.GroupVersionKind{Group: catalogGroup, Version: "v1alpha1", Kind: kind})
	}
	return out
}()

// KeystoneKind is the composite resource of one Keystone.
var KeystoneKind = keystonev1.GroupVersionKind

// Deletions are the deleted objects of a control plane in a cluster.
type Deletions struct {
	namespace string
	keystone  bool // its composite resource is watched, too

	mu      sync.Mutex
	deleted []deletion
}

// deletion is a deleted object, and the resource version of the cluster at its deletion.
type deletion struct {
	group, kind, name string
	version           int64
}

// WatchDeletions watches, until the context ends, the deletion of a control plane's namespace, and of the objects in it
// with a deletion order, in the cluster of its workloads. If that is the management cluster, KeystoneKind is one of
// them.
func WatchDeletions(ctx context.Context, in client.WithWatch, namespace string, management bool) (*Deletions, error) {
	d := &Deletions{namespace: namespace, keystone: management}
	kinds := ordered
	if management {
		kinds = append(slices.Clone(kinds), KeystoneKind)
	}
	for _, kind := range kinds {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		where := []client.ListOption{client.InNamespace(namespace)}
		if kind.Kind == "Namespace" {
			where = []client.ListOption{client.MatchingFields{"metadata.name": namespace}}
		}
		w, err := in.Watch(ctx, all, where...)
		if err != nil {
			return nil, fmt.Errorf("cannot watch %s: %w", kind.Kind, err)
		}
		go d.follow(w)
	}
	return d, nil
}

func (d *Deletions) follow(w watch.Interface) {
	defer w.Stop()
	for e := range w.ResultChan() {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type != watch.Deleted {
			continue
		}
		if version, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64); err == nil {
			d.mu.Lock()
			d.deleted = append(d.deleted, deletion{u.GroupVersionKind().Group, u.GetKind(), u.GetName(), version})
			d.mu.Unlock()
		}
	}
}

// Names returns the names of all deleted objects, with their kinds, in order.
func (d *Deletions) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortFunc(d.deleted, func(a, b deletion) int { return cmp.Compare(a.version, b.version) })
	var out []string
	for _, g := range d.deleted {
		out = append(out, g.kind+" "+g.name)
	}
	return out
}

// Check returns an error unless every object was deleted before the objects that its deletion needs: the catalog before
// Keystone's pods and their database, Keystone before the database, the database before the namespace. Nothing may be
// missing.
func (d *Deletions) Check() error {
	names := d.Names()
	d.mu.Lock()
	defer d.mu.Unlock()
	when := func(name string) int64 {
		if i := slices.Index(names, name); i >= 0 {
			return d.deleted[i].version
		}
		return 0
	}
	api, database, namespace := when("Deployment keystone"), when("MariaDB mariadb"), when("Namespace "+d.namespace)
	if api == 0 || database == 0 || namespace == 0 {
		return fmt.Errorf("the pods of Keystone, its database or the namespace were never seen to go; gone are %q", names)
	}
	var wrong []error
	entries := 0
	for _, g := range d.deleted {
		if g.group != catalogGroup {
			continue
		}
		entries++
		if g.version >= min(api, database) {
			wrong = append(wrong, fmt.Errorf("%s %s went after Keystone's pods or their database", g.kind, g.name))
		}
	}
	if entries < 10 {
		wrong = append(wrong, fmt.Errorf("only %d catalog entries were seen to go", entries))
	}
	switch service := when("Keystone keystone"); {
	case !d.keystone:
	case service == 0:
		wrong = append(wrong, errors.New("Keystone was never seen to go")) //nolint:staticcheck // A name.
	case service >= database:
		wrong = append(wrong, errors.New("Keystone went after its database")) //nolint:staticcheck // A name.
	}
	if database >= namespace {
		wrong = append(wrong, errors.New("the database went after its namespace"))
	}
	return errors.Join(wrong...)
}
