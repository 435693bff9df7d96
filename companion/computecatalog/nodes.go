package computecatalog

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
)

// nodes are the nodes of the DaemonSets of a spec.
type nodes struct {
	// of are the nodes by aggregate, and all are the nodes of all aggregates.
	of  map[string][]string
	all map[string]bool
	// open are the aggregates with a DaemonSet that lacks pods for some of its nodes, which are unknown.
	open map[string]bool
}

// mayRejoin reports whether a node without a pod stays in an aggregate: it is in no other one, and may have a pod again.
func (n nodes) mayRejoin(aggregate, node string) bool { return n.open[aggregate] && !n.all[node] }

// look finds the nodes by their pods.
func look(ctx context.Context, reader client.Reader, spec []openstackv1.ComputeNodes) (nodes, error) {
	out := nodes{of: map[string][]string{}, all: map[string]bool{}, open: map[string]bool{}}
	for _, s := range spec {
		found, complete, err := daemonset.Nodes(ctx, reader, client.ObjectKey{Namespace: string(s.Namespace), Name: string(s.DaemonSet)})
		if err != nil {
			return out, err
		}
		names := make([]string, len(found))
		for i, node := range found {
			names[i], out.all[node.Name] = node.Name, true
		}
		for _, a := range s.Aggregates {
			out.of[a] = append(out.of[a], names...)
			out.open[a] = out.open[a] || !complete
		}
	}
	return out, nil
}
