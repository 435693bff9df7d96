// Package kubernetes starts an API: etcd, kube-apiserver and kube-controller-manager, without a node, on free ports of this machine.
package kubernetes

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

const (
	// Loopback is the address of all servers.
	Loopback = "127.0.0.1"
	// Services is the range of Service addresses.
	Services = "10.96.0.0/16"
	// service is the address of the Service of the API server.
	service = "10.96.0.1"
)

// API is an API server that runs. Its programs have to be linked: etcd, kube-apiserver and kube-controller-manager.
type API struct {
	// Name is the beginning of the names of logs.
	Name string
	// Kubeconfig is the path of the administrator's kubeconfig, Config the same for client-go.
	Kubeconfig string
	Config     *rest.Config

	dir       string
	ca        *pki.Authority
	processes *process.Group
	server    string // URL
	manager   int    // port of the controller manager
}

// Start starts etcd and an API server with additional flags and its files in a folder; it does not wait until the
// server is ready.
func Start(name, dir string, ps *process.Group, flags ...string) (*API, error) {
	ports, err := FreePorts(4)
	if err != nil {
		return nil, err
	}
	ca, err := pki.New(name)
	if err != nil {
		return nil, err
	}
	a := &API{
		Name: name, dir: dir, ca: ca, processes: ps, manager: ports[3],
		server:     "https://" + Address(ports[2]),
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
	}
	if err := a.certificates(); err != nil {
		return nil, err
	}
	if a.Config, err = clientcmd.BuildConfigFromFlags("", a.Kubeconfig); err != nil {
		return nil, err
	}
	a.Config.QPS = -1 // no other client uses this API server
	a.Config.WarningHandler = rest.NoWarnings{}
	etcd := "http://" + Address(ports[0])
	if err := ps.Start(name+"-etcd", "etcd", nil, Etcd(name, filepath.Join(dir, "etcd"), etcd, "http://"+Address(ports[1]))...); err != nil {
		return nil, err
	}
	return a, ps.Start(name+"-apiserver", "kube-apiserver", nil, slices.Concat([]string{
		"--etcd-servers=" + etcd, "--bind-address=" + Loopback, "--advertise-address=" + Loopback, "--secure-port=" + strconv.Itoa(ports[2]),
		"--tls-cert-file=" + a.File("apiserver/tls.crt"), "--tls-private-key-file=" + a.File("apiserver/tls.key"),
		"--client-ca-file=" + a.File("apiserver/ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + a.File("tokens/tls.crt"), "--service-account-signing-key-file=" + a.File("tokens/tls.key"),
		"--service-cluster-ip-range=" + Services, "--authorization-mode=RBAC", "--allow-privileged=true",
		"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
	}, flags)...)
}

// Etcd returns the flags of an etcd with one member. The data need not survive a crash of the machine, so it does not
// sync to the disk.
func Etcd(name, dir, client, peer string) []string {
	return []string{
		"--name=" + name, "--data-dir=" + dir, "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + name + "=" + peer,
	}
}

// File returns the path of a file of the API server.
func (a *API) File(path string) string { return filepath.Join(a.dir, filepath.FromSlash(path)) }

// certificates creates the certificates of the API server and of its clients.
func (a *API) certificates() error {
	for name, who := range map[string]pki.Subject{
		"apiserver": {User: "kube-apiserver", Hosts: []string{
			Loopback, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", service,
		}},
		"tokens":  {User: "service-accounts"}, // its key signs tokens
		"admin":   {User: "admin", Groups: []string{"system:masters"}},
		"manager": {User: "system:kube-controller-manager"},
	} {
		p, err := a.ca.Issue(who)
		if err != nil {
			return fmt.Errorf("cannot make the certificate of %s: %w", name, err)
		}
		if err := a.ca.Write(a.File(name), p); err != nil {
			return err
		}
		if who.Hosts != nil {
			continue
		}
		if err := a.WriteKubeconfig(a.File(name+".kubeconfig"), &clientcmdapi.AuthInfo{
			ClientCertificateData: p.Certificate, ClientKeyData: p.Key,
		}); err != nil {
			return err
		}
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig for a user of the API.
func (a *API) WriteKubeconfig(path string, who *clientcmdapi.AuthInfo) error {
	return Kubeconfig(path, a.server, a.ca.Certificate, who)
}

// Kubeconfig writes a kubeconfig for a user of an API.
func Kubeconfig(path, server string, ca []byte, who *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["user"] = who
	config.Contexts["cluster"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	config.CurrentContext = "cluster"
	return clientcmd.WriteToFile(*config, path)
}

// Serve waits until the API is ready, and starts the controller manager with some controllers.
func (a *API) Serve(ctx context.Context, controllers string) error {
	if err := Ready(ctx, a.processes, "the API server of "+a.Name, a.Config); err != nil {
		return err
	}
	config := a.File("manager.kubeconfig")
	return a.processes.Start(a.Name+"-controller-manager", "kube-controller-manager", nil,
		"--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
		"--service-account-private-key-file="+a.File("tokens/tls.key"), "--root-ca-file="+a.File("apiserver/ca.crt"),
		"--use-service-account-credentials=true", "--leader-elect=false", "--controllers="+controllers,
		"--bind-address="+Loopback, "--secure-port="+strconv.Itoa(a.manager),
	)
}

// Ready waits until an API is ready.
func Ready(ctx context.Context, ps *process.Group, description string, config *rest.Config) error {
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return ps.Wait(ctx, description, func(ctx context.Context) (bool, error) {
		_, err := set.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, err
	})
}

// Address returns the address of a port; of a free one if it is zero.
func Address(port int) string { return net.JoinHostPort(Loopback, strconv.Itoa(port)) }

// FreePorts returns free ports. All are held until all are found, so that no two are the same.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(Loopback)})
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close() //nolint:errcheck // it was only to see that the port is free
		tcp, _ := l.Addr().(*net.TCPAddr)
		ports = append(ports, tcp.Port)
	}
	return ports, nil
}
