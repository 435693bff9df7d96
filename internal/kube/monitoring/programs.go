package monitoring

import "fmt"

// Containers returns alerts on every container of a namespace, by metrics of kube-state-metrics. Their names begin with what the
// namespace is.
//
// A restart that someone ordered, such as that of a login that was replaced, is one in weeks; three in an hour are a program that ends by
// itself.
func Containers(what, namespace string) []Alert {
	in := fmt.Sprintf(`namespace=%q`, namespace)
	restarts := fmt.Sprintf("increase(kube_pod_container_status_restarts_total{%s}[1h])", in)
	return []Alert{
		{
			Name: what + "ContainerRestarting", Severity: Warning, For: "5m",
			Expr:    restarts + " > 3",
			Summary: "Container {{ $labels.container }} of pod {{ $labels.pod }} has restarted {{ $value | humanize }} times within an hour.",
			Action: "Read the log of the container before (kubectl logs --previous) and the pod's events: " +
				"a probe fails, the program ends with an error, or it has too little memory.",
		},
		{
			Name: what + "ContainerOutOfMemory", Severity: Warning, For: "1m",
			Expr: fmt.Sprintf(
				`kube_pod_container_status_last_terminated_reason{%s,reason="OOMKilled"} == 1 and on (namespace, pod, container) %s > 0`,
				in, restarts),
			Summary: "The kernel has ended container {{ $labels.container }} of pod {{ $labels.pod }}, which used more memory than its limit.",
			Action:  "Raise the memory in the field of the claim that orders the pod, or choose a larger size.",
		},
	}
}

// DaemonSets returns an alert on programs that are missing on nodes, by metrics of kube-state-metrics.
func DaemonSets(what, namespace string) Alert {
	return Alert{
		Name: what + "ProgramMissing", Severity: Warning, For: "15m",
		Expr:    fmt.Sprintf("kube_daemonset_status_number_unavailable{namespace=%q} > 0", namespace),
		Summary: "{{ $labels.daemonset }} is not available on {{ $value }} nodes.",
		Action:  "List its pods (kubectl get pods -o wide), and look at the events and logs of those that are not ready.",
	}
}

// Nodes returns alerts on the nodes of the pods whose names match a regular expression: by metrics of the node exporter, before the
// kubelet evicts pods, and by those of kube-state-metrics, when it does. Servers' or Ceph's files are on these file systems.
func Nodes(what, namespace, pods, action string) []Alert {
	const paths = "/|/var|/var/lib|/var/lib/(cobaltcore|kubelet|containerd|rook).*"
	on := fmt.Sprintf(`kube_pod_info{namespace=%q,pod=~%q}`, namespace, pods)
	// The node exporter has the address of a node, and its host name in another series. Kubernetes names a node by it.
	of := func(left, all string) string {
		return fmt.Sprintf(`(node_filesystem_%s{mountpoint=~%q} / node_filesystem_%s{mountpoint=~%[2]q}) * on (instance) group_left (nodename) `+
			`node_uname_info`, left, paths, all)
	}
	join := fmt.Sprintf(` and on (nodename) label_replace(%s, "nodename", "$1", "node", "(.+)")`, on)
	return []Alert{
		{
			Name: what + "NodeDiskFilling", Severity: Warning, For: "15m", Expr: of("avail_bytes", "size_bytes") + " < 0.2" + join,
			Summary: "File system {{ $labels.mountpoint }} of node {{ $labels.nodename }} is four fifths full; " +
				"the kubelet evicts pods at 85 %.",
			Action: action,
		},
		{
			Name: what + "NodeInodesFilling", Severity: Warning, For: "15m", Expr: of("files_free", "files") + " < 0.1" + join,
			Summary: "File system {{ $labels.mountpoint }} of node {{ $labels.nodename }} has a tenth of its inodes left.",
			Action:  "Find the folder with the most files (du --inodes). " + action,
		},
		{
			Name: what + "NodeUnderPressure", Severity: Critical, For: "5m",
			Expr:    `kube_node_status_condition{condition=~"DiskPressure|MemoryPressure|PIDPressure",status="true"} == 1 and on (node) ` + on,
			Summary: "Node {{ $labels.node }} has the condition {{ $labels.condition }}: the kubelet evicts pods, and takes no more.",
			Action:  action,
		},
	}
}

// CertificatesExpiring is an alert on every Certificate of a namespace that cert-manager has not renewed in time.
func CertificatesExpiring(name, namespace string) Alert {
	return Alert{
		Name: name, Severity: Warning, For: "1h",
		Expr:    fmt.Sprintf(`certmanager_certificate_expiration_timestamp_seconds{namespace=%q} - time() < 7 * 24 * 3600`, namespace),
		Summary: "Certificate {{ $labels.name }} expires within a week and was not renewed.",
		Action:  "Look at the Certificate's events and at its issuer.",
	}
}
