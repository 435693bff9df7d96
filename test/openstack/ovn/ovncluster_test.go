//go:build openstack && linux

package ovn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	wired "github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// ovnCluster is an OVNCluster without other claims, whose function sees the real state of its objects: members are
// added and removed in several passes.
type ovnCluster struct {
	t          *testing.T
	cluster    *cluster.Cluster
	operators  *operators.Operators
	simulation *simulate.Cluster
	applied    map[string]string // as written last, by the kind and the name of the object
	namespace  string
}

// actual are the kinds whose state the function reads, or that are not ready for several of its passes.
var actual = map[string]bool{"StatefulSet": true, "Deployment": true, "RaftCluster": true, "ConfigMap": true, "Service": true}

func newOVN(t *testing.T, namespace string, replicas int) *ovnCluster {
	t.Helper()
	public, err := pki.New("public")
	if err != nil {
		t.Fatal(err)
	}
	xr, err := structpb.NewStruct(map[string]any{
		"apiVersion": ovnv1.GroupVersion.String(), "kind": ovnv1.GroupVersionKind.Kind,
		"metadata": map[string]any{"name": ovnv1.Name, "namespace": namespace, "generation": 1}, "spec": ovnSpec(replicas),
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &ovnCluster{t: t, namespace: namespace, applied: map[string]string{}, simulation: &simulate.Cluster{XR: xr, Kinds: kinds.Runners()}}
	image := func(string) (cluster.Image, error) {
		return cluster.Image{Root: harness.Programs.Network, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}, nil
	}
	dir := t.TempDir()
	if n.cluster, err = cluster.New(dir, image, harness.Progress()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.KeepLogs(t, dir) })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); n.cluster.Stop() })
	n.operators = operators.New(ctx, n.cluster, public, harness.Programs.MariaDBOperator)
	n.simulation.Reconcile = func(desired []map[string]any) error { return n.reconcile(ctx, desired) }
	n.simulation.Remove = func(removed []map[string]any) error {
		for _, m := range removed {
			u := &unstructured.Unstructured{Object: m}
			delete(n.applied, u.GetKind()+"/"+u.GetName())
		}
		return n.operators.Remove(ctx, removed)
	}
	return n
}

func ovnSpec(replicas int) map[string]any {
	return map[string]any{
		"target": map[string]any{"providerConfig": "in-cluster"}, "clusterDomain": "cluster.local",
		"northbound": map[string]any{"replicas": replicas},
		"southbound": map[string]any{"replicas": replicas, "exposure": map[string]any{"type": "LoadBalancer"}},
		"relay":      map[string]any{"replicas": 2},
	}
}

// reconcile writes new objects, and does not wait for objects that become ready in several passes.
func (n *ovnCluster) reconcile(ctx context.Context, desired []map[string]any) error {
	var others, waits []map[string]any
	for _, m := range desired {
		u := &unstructured.Unstructured{Object: m}
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		switch key := u.GetKind() + "/" + u.GetName(); {
		case n.applied[key] == string(text):
		case actual[u.GetKind()]:
			waits, n.applied[key] = append(waits, m), string(text)
		default:
			others, n.applied[key] = append(others, m), string(text)
		}
	}
	if err := n.operators.Reconcile(ctx, others); err != nil {
		return err
	}
	for _, m := range waits {
		if err := n.operators.Apply(ctx, (&unstructured.Unstructured{Object: m}).DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

// converge calls the function with the current state repeatedly, until everything is ready.
func (n *ovnCluster) converge() {
	n.t.Helper()
	err := n.cluster.Wait(context.Background(), operators.Timeout, "the OVNCluster", func(ctx context.Context) (bool, error) {
		done, err := n.simulation.Call(func(simulate.Step) {})
		if err != nil || done {
			return done, err
		}
		return false, n.look(ctx)
	})
	if err != nil {
		n.t.Fatalf("%v\n%v", err, n.simulation.XR.GetFields()["status"].GetStructValue().AsMap()["components"])
	}
}

// look reads the current state of the objects that the function reads.
func (n *ovnCluster) look(ctx context.Context) error {
	for name, o := range n.simulation.Observed {
		inner := o
		if wrapper.IsObject(o) {
			inner, _ = wrapper.Observed(o)
		}
		kind := inner.At("kind").Text()
		if !actual[kind] {
			continue
		}
		is, err := n.read(ctx, inner)
		if err != nil {
			return err
		}
		if wrapper.IsObject(o) {
			is = wrapper.WithObserved(o, is)
		}
		n.simulation.Observed[name] = is
	}
	return nil
}

func (n *ovnCluster) read(ctx context.Context, o wired.Struct) (wired.Struct, error) {
	u := &unstructured.Unstructured{Object: o.Map()}
	created, err := n.cluster.Client.Scheme().New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	typed, _ := created.(client.Object)
	if err := n.cluster.Client.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: u.GetName()}, typed); err != nil {
		return nil, err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = u.GetAPIVersion(), u.GetKind()
	return encode.Struct(object)
}

// scale changes the number of members of both databases.
func (n *ovnCluster) scale(replicas int) { n.order(ovnSpec(replicas)) }

// order changes the spec, and waits until it is in effect.
func (n *ovnCluster) order(want map[string]any) {
	n.t.Helper()
	n.set(want)
	n.converge()
}

// set changes the spec.
func (n *ovnCluster) set(want map[string]any) {
	n.t.Helper()
	spec, err := structpb.NewStruct(want)
	if err != nil {
		n.t.Fatal(err)
	}
	n.simulation.XR.Fields["spec"] = structpb.NewStructValue(spec)
}

// pass calls the function with the current state once.
func (n *ovnCluster) pass() error {
	_, err := n.simulation.Call(func(simulate.Step) {})
	return err
}

// ovsdb is a database as a client sees it.
type ovsdb struct {
	*ovnCluster
	part, schema string
	port         int
	// client is the name in the certificate of a node. Empty: the client is the companion.
	client string
}

func (n *ovnCluster) northbound() ovsdb {
	return ovsdb{ovnCluster: n, part: "northbound", schema: "OVN_Northbound", port: ovnv1.NorthboundPort}
}

func (n *ovnCluster) southbound() ovsdb {
	return ovsdb{ovnCluster: n, part: "southbound", schema: "OVN_Southbound", port: ovnv1.SouthboundPort}
}

func (d ovsdb) set() string { return ovnv1.Name + "-" + d.part }

func (d ovsdb) pod(i int) string { return fmt.Sprintf("%s-%d", d.set(), i) }

func (d ovsdb) host(i int) string {
	return fmt.Sprintf("%s.%s.%s.svc.cluster.local", d.pod(i), d.set(), d.namespace)
}

func (d ovsdb) claim(pod string) string { return d.cluster.ClaimDir(d.namespace, "data-"+pod) }

// transact runs one operation at a member.
func (d ovsdb) transact(i int, database string, op map[string]any) (json.RawMessage, error) {
	return d.transactAt(d.host(i), database, op)
}

// transactAt runs one operation at a host, whose certificate has to contain that name or address.
func (d ovsdb) transactAt(host, database string, ops ...map[string]any) (json.RawMessage, error) {
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	secret, err := d.operators.Secret(ctx, d.namespace, ovnv1.Name+"-client-tls")
	if err != nil {
		return nil, err
	}
	if d.client != "" {
		if err := d.issue(ctx, secret); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(secret[corev1.TLSCertKey], secret[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(secret["ca.crt"])
	conn, err := d.cluster.Dial(ctx, "tcp", fmt.Sprintf("%s:%d", host, d.port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{pair}, ServerName: host, MinVersion: tls.VersionTLS12})
	params := []any{database}
	for _, op := range ops {
		params = append(params, op)
	}
	if err := json.NewEncoder(secure).Encode(map[string]any{"id": 7, "method": "transact", "params": params}); err != nil {
		return nil, err
	}
	for read := json.NewDecoder(secure); ; {
		var a struct {
			Method string            `json:"method"`
			Result []json.RawMessage `json:"result"`
			Error  json.RawMessage   `json:"error"`
		}
		switch err := read.Decode(&a); {
		case err != nil:
			return nil, err
		case a.Method != "":
		case len(a.Result) < len(ops) || slices.ContainsFunc(a.Result, func(r json.RawMessage) bool { return strings.Contains(string(r), `"error"`) }):
			return nil, fmt.Errorf("%s %s", a.Error, a.Result)
		default:
			return a.Result[0], nil
		}
	}
}

// issue replaces a certificate by the certificate of a node, as a NodeIssuer issues it.
func (d ovsdb) issue(ctx context.Context, secret map[string][]byte) error {
	ca, err := d.operators.Secret(ctx, d.namespace, ovnv1.Name+"-ca")
	if err != nil {
		return err
	}
	authority, err := pki.Load(pki.Pair{Certificate: ca[corev1.TLSCertKey], Key: ca[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return err
	}
	pair, err := authority.Issue(pki.Subject{User: d.client, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, SignatureOnly: true})
	if err != nil {
		return err
	}
	secret[corev1.TLSCertKey], secret[corev1.TLSPrivateKeyKey] = pair.Certificate, pair.Key
	return nil
}

// status returns a member's status, as read in its pod.
func (d ovsdb) status(i int, command ...string) string {
	text, err := d.cluster.Exec(context.Background(), d.namespace, d.pod(i), append([]string{"ovs-appctl", "--target=/tmp/control"}, command...)...)
	if err != nil {
		return ""
	}
	return text
}

// served returns the certificate that a member serves, in PEM; empty if it does not respond.
func (d ovsdb) served(i int) string {
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := d.cluster.Dial(ctx, "tcp", fmt.Sprintf("%s:%d", d.host(i), d.port))
	if err != nil {
		return ""
	}
	defer conn.Close()
	var out []byte
	secure := tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			out = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw[0]})
			return nil
		},
	})
	_ = secure.HandshakeContext(ctx) // the server requests a client certificate after it has sent its own
	return string(out)
}

// serverCount returns the number of servers in the cluster/status of a member.
func serverCount(status string) int {
	_, list, _ := strings.Cut(status, "\nServers:\n")
	return strings.Count(list, " at ssl:")
}

// member is a member's row about itself.
type member struct {
	Leader    bool     `json:"leader"`
	Connected bool     `json:"connected"`
	CID       []string `json:"cid"`
	SID       []string `json:"sid"`
}

// memberStatus returns a member's row about itself: nil if it has no such database.
func (d ovsdb) memberStatus(i int) (*member, error) {
	return d.memberStatusAt(d.host(i))
}

func (d ovsdb) memberStatusAt(host string) (*member, error) {
	text, err := d.transactAt(host, "_Server", map[string]any{
		"op": "select", "table": "Database", "where": []any{[]any{"name", "==", d.schema}}, "columns": []string{"leader", "connected", "cid", "sid"},
	})
	if err != nil {
		return nil, err
	}
	var out struct {
		Rows []member `json:"rows"`
	}
	if err := json.Unmarshal(text, &out); err != nil || len(out.Rows) == 0 {
		return nil, err
	}
	return &out.Rows[0], nil
}

// members reads the first members, and requires that all belong to one cluster; it returns the cluster's ID and its
// leader.
func (d ovsdb) members(count int) (id string, leader int) {
	d.t.Helper()
	leader = -1
	err := d.cluster.Wait(context.Background(), time.Minute, d.part+" to agree", func(context.Context) (bool, error) {
		ids := map[string]bool{}
		leader = -1
		for i := range count {
			m, err := d.memberStatus(i)
			if err != nil || m == nil || !m.Connected {
				return false, nil //nolint:nilerr // not yet
			}
			ids[m.CID[1]], id = true, m.CID[1]
			if m.Leader {
				leader = i
			}
		}
		if len(ids) > 1 {
			return false, fmt.Errorf("members of %d clusters: %v", len(ids), ids)
		}
		return leader >= 0, nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id, leader
}

// names returns the names of the rows of a table, as one member has them.
func (d ovsdb) names(i int, table, column string) (map[string]int, error) {
	text, err := d.transact(i, d.schema, map[string]any{"op": "select", "table": table, "where": []any{}, "columns": []string{column}})
	if err != nil {
		return nil, err
	}
	var out struct {
		Rows []map[string]any `json:"rows"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	names := map[string]int{}
	for _, r := range out.Rows {
		names[fmt.Sprint(r[column])]++
	}
	return names, nil
}
