package databasesync

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
)

// consumersOf reads the workloads that use the database.
func consumersOf(ctx context.Context, reader client.Reader, sync *openstackv1.DatabaseSync) ([]consumer.Workload, error) {
	out := make([]consumer.Workload, len(sync.Spec.Consumers))
	for i, ref := range sync.Spec.Consumers {
		var err error
		key := client.ObjectKey{Namespace: sync.Namespace, Name: string(ref.Name)}
		if out[i], err = consumer.Observe(ctx, reader, ref.Kind, key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// first returns the first reason for which a workload is pending; "" if none is.
func first(consumers []consumer.Workload, waiting func(consumer.Workload) string) string {
	for _, c := range consumers {
		if why := waiting(c); why != "" {
			return why
		}
	}
	return ""
}
