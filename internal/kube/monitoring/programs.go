package monitoring

import "fmt"

// Containers returns alerts on every container of a namespace, with metrics of kube-state-metrics. Their names start with prefix.
//
// Intended restarts, such as after a credential rotation, happen once in weeks; three in an hour indicate a failing process.
func Containers(prefix, namespace string) []Alert {
	in := fmt.Sprintf(`namespace=%q`, namespace)
	restarts := fmt.Sprintf("increase(kube_pod_container_status_restarts_total{%s}[1h])", in)
	return []Alert{
		{
			Name: prefix + "ContainerRestarting", Severity: Warning, For: "5m",
			Expr:    restarts + " > 3",
			Summary: "Container {{ $labels.container }} of pod {{ $labels.pod }} has restarted {{ $value | humanize }} times within an hour.",
			Action: "Check the log of the previous container (kubectl logs --previous) and the events of the pod: " +
				"a probe fails, the process exits with an error, or it has too little memory.",
		},
		{
			Name: prefix + "ContainerOutOfMemory", Severity: Warning, For: "1m",
			Expr: fmt.Sprintf(
				`kube_pod_container_status_last_terminated_reason{%s,reason="OOMKilled"} == 1 and on (namespace, pod, container) %s > 0`,
				in, restarts),
			Summary: "The kernel killed container {{ $labels.container }} of pod {{ $labels.pod }}, which used more memory than its limit.",
			Action:  "Increase the memory in the claim's field for this pod, or set a larger size.",
		},
	}
}

// DaemonSets returns an alert on pods that are missing on nodes, with metrics of kube-state-metrics.
func DaemonSets(prefix, namespace string) Alert {
	return Alert{
		Name: prefix + "ProgramMissing", Severity: Warning, For: "15m",
		Expr:    fmt.Sprintf("kube_daemonset_status_number_unavailable{namespace=%q} > 0", namespace),
		Summary: "{{ $labels.daemonset }} is not available on {{ $value }} nodes.",
		Action:  "List its pods (kubectl get pods -o wide), and check the events and logs of pods that are not ready.",
	}
}

// Nodes returns alerts on the nodes of pods whose names match a regular expression: with metrics of the node exporter, before the
// kubelet evicts pods, and with metrics of kube-state-metrics, when it does. Files of servers or Ceph are on these file systems.
func Nodes(prefix, namespace, pods, action string) []Alert {
	const paths = "/|/var|/var/lib|/var/lib/(cobaltcore|kubelet|containerd|rook).*"
	on := fmt.Sprintf(`kube_pod_info{namespace=%q,pod=~%q}`, namespace, pods)
	// The node exporter's series have the address of a node; its host name, which is the name in Kubernetes, is in another series.
	of := func(left, all string) string {
		return fmt.Sprintf(`(node_filesystem_%s{mountpoint=~%q} / node_filesystem_%s{mountpoint=~%[2]q}) * on (instance) group_left (nodename) `+
			`node_uname_info`, left, paths, all)
	}
	join := fmt.Sprintf(` and on (nodename) label_replace(%s, "nodename", "$1", "node", "(.+)")`, on)
	return []Alert{
		{
			Name: prefix + "NodeDiskFilling", Severity: Warning, For: "15m", Expr: of("avail_bytes", "size_bytes") + " < 0.2" + join,
			Summary: "File system {{ $labels.mountpoint }} of node {{ $labels.nodename }} is 80 % full; " +
				"the kubelet evicts pods at 85 %.",
			Action: action,
		},
		{
			Name: prefix + "NodeInodesFilling", Severity: Warning, For: "15m", Expr: of("files_free", "files") + " < 0.1" + join,
			Summary: "File system {{ $labels.mountpoint }} of node {{ $labels.nodename }} has only 10 % of its inodes free.",
			Action:  "Find the folder with the most files (du --inodes). " + action,
		},
		{
			Name: prefix + "NodeUnderPressure", Severity: Critical, For: "5m",
			Expr:    `kube_node_status_condition{condition=~"DiskPressure|MemoryPressure|PIDPressure",status="true"} == 1 and on (node) ` + on,
			Summary: "Node {{ $labels.node }} has the condition {{ $labels.condition }}: the kubelet evicts pods and accepts no new ones.",
			Action:  action,
		},
	}
}

// CertificatesExpiring returns an alert on every Certificate of a namespace that cert-manager has not renewed in time.
func CertificatesExpiring(name, namespace string) Alert {
	return Alert{
		Name: name, Severity: Warning, For: "1h",
		Expr:    fmt.Sprintf(`certmanager_certificate_expiration_timestamp_seconds{namespace=%q} - time() < 7 * 24 * 3600`, namespace),
		Summary: "Certificate {{ $labels.name }} expires within a week and was not renewed.",
		Action:  "Check the events of the Certificate and its issuer.",
	}
}
