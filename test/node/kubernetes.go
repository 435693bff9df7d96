//go:build linux

package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// Addresses of the cluster, which are only reachable on the node's sandbox.
const (
	podAddresses = "10.245.0.0/24"
	services     = kubernetes.Services
	apiService   = "10.96.0.1"
	dnsService   = "10.96.0.10"
	registryPort = "5000"
	etcdAddress  = "http://127.0.0.1:2379"
	etcdPeers    = "http://127.0.0.1:2380"

	nodeName = "node"
	// bridge is the network of package sandbox, where the machine has its address.
	bridge = "cobaltcore0"
)

var nodeAddress = sandbox.Gateway()

// socket is the socket of containerd. Folders below /run are private to the node's sandbox.
const (
	socket        = "/run/containerd/containerd.sock"
	containerdRun = "/run/containerd"
)

// files are the configuration files of the programs, by path below the state folder. $STATE, $BIN and the addresses are
// replaced.
var files = map[string]string{
	"containerd.toml": `version = 2
root = "$STATE/containerd"
state = "/run/containerd"
[grpc]
  address = "` + socket + `"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "cobaltcore.test/pause:1"
  # Machines that are containers themselves may not lower it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$STATE/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$STATE/network"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "/usr/sbin/runc"
        SystemdCgroup = false
`,
	// All images are pulled from the local registry, whatever their names.
	"registries/_default/hosts.toml": `[host."http://` + nodeAddress + ":" + registryPort + `"]
  capabilities = ["pull", "resolve"]
`,
	"network/10-node.conflist": `{"cniVersion": "0.4.0", "name": "node", "plugins": [
  {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podAddresses + `"}]], "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "/run/cni"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`,
	// There is no name server outside.
	"resolv.conf": "nameserver " + nodeAddress + "\n",
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $STATE/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $STATE/pki/kubelet.crt
tlsPrivateKeyFile: $STATE/pki/kubelet.key
containerRuntimeEndpoint: unix://` + socket + `
cgroupDriver: cgroupfs
failCgroupV1: false
clusterDNS: [` + dnsService + `]
clusterDomain: cluster.local
resolvConf: $STATE/resolv.conf
# The disk is the machine's, and mostly others use it.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi, nodefs.inodesFree: 1%}
failSwapOn: false
podLogsDir: $STATE/pods
volumePluginDir: $STATE/kubelet/plugins
serializeImagePulls: false
`,
	"kube-proxy.yaml": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $STATE/pki/kube-proxy.kubeconfig}
clusterCIDR: ` + podAddresses + `
hostnameOverride: ` + nodeName + `
conntrack: {maxPerCore: 0, min: 0}
`,
}

// write writes all files below the state folder.
func write(state string) error {
	for name, text := range files {
		path := filepath.Join(state, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$STATE", state)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// identities are the subjects of certificates.
var identities = []identity{
	{name: "apiserver", user: "kube-apiserver", hosts: []string{
		nodeAddress, "127.0.0.1", apiService, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}},
	{name: "kubelet", user: nodeName, hosts: []string{nodeAddress, nodeName}},
	{name: "tokens", user: "service-accounts", hosts: []string{}}, // its key signs tokens
	{name: "front-proxy", user: "front-proxy", hosts: []string{}},
	{name: "apiserver-kubelet", user: "apiserver-kubelet", groups: []string{"system:masters"}, hosts: []string{}},
	{name: "admin", user: "admin", groups: []string{"system:masters"}},
	{name: "kube-controller-manager", user: "system:kube-controller-manager"},
	{name: "kube-scheduler", user: "system:kube-scheduler"},
	{name: "kube-proxy", user: "system:kube-proxy"},
	{name: "node", user: "system:node:" + nodeName, groups: []string{"system:nodes"}},
}

// apiServer returns the flags of the API server.
func apiServer(state string) []string {
	pki := func(name string) string { return filepath.Join(state, "pki", name) }
	return []string{
		"--etcd-servers=" + etcdAddress, "--bind-address=0.0.0.0", "--advertise-address=" + nodeAddress, "--secure-port=6443",
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"), "--client-ca-file=" + pki("ca.crt"),
		"--service-cluster-ip-range=" + services, "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("tokens.crt"), "--service-account-signing-key-file=" + pki("tokens.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet.key"),
		"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
	}
}

// clientFlags returns the flags with which a program of the control plane connects to the API.
func clientFlags(state, name string) []string {
	config := filepath.Join(state, "pki", name+".kubeconfig")
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", "--leader-elect=false",
	}
}

// controllerManager returns the flags of the controller manager.
func controllerManager(state string) []string {
	pki := func(name string) string { return filepath.Join(state, "pki", name) }
	return append(clientFlags(state, "kube-controller-manager"),
		"--service-account-private-key-file="+pki("tokens.key"), "--root-ca-file="+pki("ca.crt"),
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
		"--use-service-account-credentials=true", "--controllers=*",
	)
}

// kubelet returns the flags of the kubelet.
func kubelet(state string) []string {
	return []string{
		"--config=" + filepath.Join(state, "kubelet.yaml"), "--kubeconfig=" + filepath.Join(state, "pki", "node.kubeconfig"),
		"--hostname-override=" + nodeName, "--node-ip=" + nodeAddress, "--root-dir=" + filepath.Join(state, "kubelet"),
		"--cert-dir=" + filepath.Join(state, "kubelet", "pki"), "--v=2",
	}
}

// network prepares the kernel for pods, in this network only.
func network() error {
	for name, value := range map[string]string{
		"net/ipv4/ip_forward":                "1",
		"net/bridge/bridge-nf-call-iptables": "1", // so that a pod reaches itself by its Service
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("cannot prepare the network: %w", err)
		}
	}
	// There is no way out, but Services have to be reached from the machine itself, too: the API server calls webhooks.
	out, err := exec.Command("ip", "route", "add", services, "dev", bridge).CombinedOutput() //nolint:noctx // short
	if err != nil {
		return fmt.Errorf("cannot reach Services: %w: %s", err, out)
	}
	return nil
}
