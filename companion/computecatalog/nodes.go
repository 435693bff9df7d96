package computecatalog

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
)

// nodes are those that DaemonSets of a spec are for.
type nodes struct {
	// of are the nodes of an aggregate, and all are those of any.
	of  map[string][]string
	all map[string]bool
	// open are the aggregates of DaemonSets that have no pod for some of their nodes: which these are, nobody knows.
	open map[string]bool
}

// mayRejoin says of a node of an aggregate that has no pod whether it is to stay there: it is in no other one, and may have a pod again.
func (n nodes) mayRejoin(aggregate, node string) bool { return n.open[aggregate] && !n.all[node] }

// look finds the nodes by the pods that are there.
func look(ctx context.Context, reader client.Reader, spec []openstackv1.ComputeNodes) (nodes, error) {
	out := nodes{of: map[string][]string{}, all: map[string]bool{}, open: map[string]bool{}}
	for _, s := range spec {
		found, complete, err := daemonset.Nodes(ctx, reader, client.ObjectKey{Namespace: string(s.Namespace), Name: string(s.DaemonSet)})
		if err != nil {
			return out, err
		}
		for _, node := range found {
			out.all[node] = true
		}
		for _, a := range s.Aggregates {
			out.of[a] = append(out.of[a], found...)
			out.open[a] = out.open[a] || !complete
		}
	}
	return out, nil
}
