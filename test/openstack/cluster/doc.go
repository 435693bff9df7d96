// Package cluster fakes the parts of Kubernetes that pods need: an API in memory (controller-runtime's fake client,
// with optimistic concurrency), a node that runs pods as processes with their volumes, environment and probes, the
// controllers of Deployments, StatefulSets and Jobs, and Services.
//
// Not faked: resource limits, seccomp, network policies, scheduling, and the tokens of service accounts.
package cluster
